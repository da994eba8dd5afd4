#include "stats/job/dump/msprobe/dump_json_carrier.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "stats/data/json/json_writer.hpp"
#include "stats/job/dump/msprobe/call_text.hpp"
#include "stats/job/dump/msprobe/leaf.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kDialect = "msprobe";
constexpr std::size_t kMostRowsOfRun = 4096;      // a run with more tensors is split into several calls
constexpr std::size_t kMostRowsOfCall = 1 << 16;  // the same for a call read from a dump.json

bool has_place(const Column& column) {
  constexpr std::string_view kPlaced[] = {"op_type", "op_name", "io",    "slot", "data_size",    "data_type",
                                          "shape",   "tensor",  "crc32", "xor",  "requires_grad"};
  return std::ranges::count(kPlaced, column.name) != 0;
}

std::string text_of(const Value& value, bool is_truth) {
  if (std::holds_alternative<std::monostate>(value)) return "null";
  if (const auto* real = std::get_if<double>(&value)) return python_repr(*real);
  if (is_truth && value == Value{std::uint64_t{1}}) return "true";
  if (is_truth && value == Value{std::uint64_t{0}}) return "false";
  return to_string(value);
}

Leaf leaf_of(const Row& row, std::string_view framework) {
  Leaf leaf{framework, row.data_type, row.shape, {}};
  for (const char* name : {"crc32", "xor"}) {
    const Cell* cell = row.identity.find(name);
    if (const auto* digits = cell ? std::get_if<std::string>(cell) : nullptr) leaf.checksum = *digits;
  }
  if (const Cell* cell = row.identity.find("requires_grad")) leaf.requires_grad = *cell == Cell("True");
  const auto is_had = [&](Category category) { return row.statistics.find(category) != nullptr; };
  if (!leaf.checksum.empty() && std::ranges::none_of(kLeafStatistics, is_had)) return leaf;
  auto& values = leaf.values.emplace();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value* value = row.statistics.find(kLeafStatistics[i]);
    values[i] = text_of(value ? *value : Value{}, row.data_type == "bool");
  }
  return leaf;
}

// A tensor that msprobe identifies by name instead of by slot.
struct LeafName {
  std::string name;
  bool is_parameter;
};

std::optional<LeafName> name_of(const Row& row, ApiName::Kind kind) {
  const Cell* cell = row.identity.find("tensor");
  const auto* whole = cell ? std::get_if<std::string>(cell) : nullptr;
  if (whole == nullptr || !whole->starts_with(row.identity.op_name + ".")) return std::nullopt;
  std::string_view name = std::string_view(*whole).substr(row.identity.op_name.size() + 1);
  bool is_parameter = kind == ApiName::Kind::kGradients;
  if (!is_parameter) {
    const std::string_view list = name.substr(0, name.find('.') + 1);  // npos + 1 is 0
    is_parameter = list == "parameters.";
    if (!is_parameter && list != "input.") return std::nullopt;
    name.remove_prefix(list.size());
  }
  const bool is_number = name.find_first_not_of("0123456789") == name.npos;
  if (is_number || name.find('.') != name.npos) return std::nullopt;
  return LeafName{std::string(name), is_parameter};
}

// Moves tensors with names to the named lists. Only if they are the last slots, without a gap, and arguments come
// before parameters: else a reader would assign other slots.
void name_leaves(const std::vector<Row>& rows, CallText& call) {
  const bool are_gradients = call.kind == ApiName::Kind::kGradients;
  if (call.is_backward && !are_gradients) return;
  auto& leaves = are_gradients ? call.outputs : call.inputs;
  std::map<std::uint32_t, LeafName> names;
  std::set<std::pair<bool, std::string>> different;
  for (const Row& row : rows) {
    if ((row.identity.io == "output") != are_gradients) continue;
    const auto name = name_of(row, call.kind);
    if (!name) continue;
    names.insert_or_assign(static_cast<std::uint32_t>(row.identity.slot), *name);
    different.emplace(name->is_parameter, name->name);
  }
  if (names.empty() || different.size() != names.size()) return;
  const std::uint32_t first = names.begin()->first, last = names.rbegin()->first;
  const auto is_parameter = [](const auto& slot_and_name) { return slot_and_name.second.is_parameter; };
  const bool is_ordered = std::ranges::is_partitioned(names, std::not_fn(is_parameter));
  if (last - first + 1 != names.size() || leaves.rbegin()->first != last || !is_ordered ||
      (are_gradients && first != 0))
    return;
  for (const auto& [slot, name] : names) {
    auto leaf = leaves.extract(slot);
    (name.is_parameter ? call.parameters : call.keywords).emplace_back(name.name, std::move(leaf.mapped()));
  }
  call.named_from = first;
}

}  // namespace

DumpJsonCarrier::DumpJsonCarrier(std::string_view framework, RowWriter::Sink sink, ConversionLosses& losses)
    : framework_(framework.empty() ? "mindspore" : framework),
      head_(dump_json_head("statistics", "mix", framework_, "")),
      sink_(std::move(sink)),
      losses_(losses) {}

Status DumpJsonCarrier::carry(Row row) {
  const bool begins_run = cut_.begins_run(row.identity) && !is_in_call_;
  if (begins_run || held_.size() == (is_in_call_ ? kMostRowsOfCall : kMostRowsOfRun)) {
    is_in_call_ = false;
    if (Status written = write_call(); !written) return written;
  }
  if (row.identity.slot > std::numeric_limits<std::uint32_t>::max()) {
    losses_.refused(row, "its slot is above 4294967295");
    return {};
  }
  drop(row);
  held_.push_back(std::move(row));
  return {};
}

// Removes the statistics that dump.json has no member for, and reports them.
void DumpJsonCarrier::drop(Row& row) {
  Statistics kept({}, {});
  for (std::size_t i = 0; i < row.statistics.categories.size(); ++i) {
    const Category category = row.statistics.categories[i];
    const Value& value = row.statistics.values[i];
    if (std::ranges::count(kLeafStatistics, category) != 0) {
      kept.categories.push_back(category);
      kept.values.push_back(value);
    } else if (value != Value{}) {
      losses_.dropped(column(category), kDialect, row);
    }
  }
  row.statistics = std::move(kept);
  const bool has_crc32 = row.identity.find("crc32") != nullptr;
  std::erase_if(row.identity.more, [&](const auto& cell) {
    const Column* column = column_named(cell.first);
    const bool is_second = has_crc32 && cell.first == "xor";  // dump.json has one member for both, md5
    const bool is_dropped = column != nullptr && (!has_place(*column) || is_second);
    if (is_dropped) losses_.dropped(column->heading, kDialect, row);
    return is_dropped;
  });
  for (const Column& column : kColumns) {
    const auto* number = column.number.of(row);
    if (number != nullptr && *number != 0 && !has_place(column)) losses_.dropped(column.heading, kDialect, row);
  }
}

Status DumpJsonCarrier::begin_call() {
  Status written = write_call();
  is_in_call_ = true;
  return written;
}

Status DumpJsonCarrier::end_call(CallRead&& call) {
  losses_.cut_short(call.op_name, call.odd_count, call.odd_member, kDialect);
  CallLayout layout;
  const bool is_whole = std::exchange(is_in_call_, false) && !call.layout.empty() && layout.add(call.layout) &&
                        layout.tensor_count() == held_.size();
  if (is_whole) return write_call(std::exchange(held_, {}), call.op_type, call.op_name, std::move(layout));
  losses_.left_out(call.op_name, call.other_count, kDialect);
  return write_call();
}

Status DumpJsonCarrier::write_call() {
  if (held_.empty()) return {};
  const Identity first = held_[0].identity;
  return write_call(std::exchange(held_, {}), first.op_type, first.op_name, {});
}

Status DumpJsonCarrier::write_call(std::vector<Row> rows, std::string_view op_type, std::string_view op_name,
                                   CallLayout layout) {
  const auto place = [](const Row& row) { return std::pair(row.identity.io, row.identity.slot); };
  std::ranges::sort(rows, {}, place);
  const ApiName name = api_name_of(op_type, op_name);
  CallText call{.kind = name.kind, .is_backward = name.is_backward, .key = keys_.next(name)};
  call.layout = std::move(layout);
  for (const Row& row : rows) {
    auto& leaves = row.identity.io == "input" ? call.inputs : call.outputs;
    leaves.insert_or_assign(static_cast<std::uint32_t>(row.identity.slot), text_of(leaf_of(row, framework_)));
  }
  if (!call.layout.is_known()) name_leaves(rows, call);
  const std::string text = text_of(call, InputOutput::kBoth, framework_);
  auto there = read_back(text);
  if (!there || there->size() != rows.size()) {
    for (const Row& row : rows) losses_.refused(row, there ? "it would be read otherwise" : there.error().message);
    return {};
  }
  std::ranges::sort(*there, {}, place);  // parameters come after the outputs
  for (std::size_t i = 0; i < rows.size(); ++i) losses_.compare(rows[i], (*there)[i], has_place);
  rows_ += rows.size();
  return sink_((std::exchange(is_begun_, true) ? "," : head_) + text);
}

// Parses the call as a reader does.
Result<std::vector<Row>> DumpJsonCarrier::read_back(const std::string& call) const {
  std::vector<Row> rows;
  const auto read = read_rows(head_ + call + std::string(kDumpJsonTail), [&](Row&& row) {
    rows.push_back(std::move(row));
    return Status();
  });
  if (!read) return read.error();
  return rows;
}

Status DumpJsonCarrier::finish() {
  if (Status written = write_call(); !written) return written;
  return sink_(is_begun_ ? std::string(kDumpJsonTail) : head_ + std::string(kEmptyDumpJsonTail));
}

}  // namespace tensorstat
