#include "stats/answer/parts/state.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "stats/answer/parts/plan.hpp"
#include "stats/core/base/crc32.hpp"
#include "stats/data/rows/column.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kStateMagic = "tsstate1";
constexpr std::size_t kFrameBytes = 8;

class Writer {
 public:
  void number(std::uint64_t value) { fixed(value, 8); }
  void small(std::uint64_t value) { fixed(value, 4); }
  void byte(std::uint8_t value) { fixed(value, 1); }
  void text(std::string_view value) {
    small(value.size());
    out_ += value;
  }
  void shape(const Shape& shape) {
    small(shape.size());
    for (const std::uint64_t length : shape) number(length);
  }
  std::string take() { return std::move(out_); }

 private:
  void fixed(std::uint64_t value, std::size_t bytes) {
    std::array<char, 8> text{};
    for (char& each : text) each = static_cast<char>(value), value >>= 8;
    out_.append(text.data(), bytes);
  }
  std::string out_;
};

// Reads what Writer wrote. After a read beyond the end, every read gives nothing and is_right() is false.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  std::uint64_t number() { return fixed(8); }
  std::uint32_t small() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(fixed(1)); }
  std::string_view text() { return take(small()); }
  Shape shape() {
    Shape shape;
    for (std::uint32_t left = small(); left != 0 && is_right_; --left) shape.push_back(number());
    return shape;
  }
  void refuse() { is_right_ = false; }
  bool is_right() const { return is_right_; }
  bool is_at_end() const { return is_right_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t bytes) {
    is_right_ = is_right_ && bytes <= rest_.size();
    if (!is_right_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::uint64_t fixed(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    }
    return value;
  }
  std::string_view rest_;
  bool is_right_ = true;
};

// A Value is its index in the variant, and its content.
void write_value(const Value& value, Writer& out) {
  out.byte(static_cast<std::uint8_t>(value.index()));
  if (const auto* natural = std::get_if<std::uint64_t>(&value)) out.number(*natural);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) out.number(static_cast<std::uint64_t>(*integer));
  if (const auto* real = std::get_if<double>(&value)) out.number(std::bit_cast<std::uint64_t>(*real));
  if (std::holds_alternative<Digest>(value) || std::holds_alternative<Exponents>(value)) out.text(to_string(value));
}

template <typename T>
Value value_from(Reader& in, std::string_view text) {
  const auto parsed = T::from(text);
  if (parsed) return *parsed;
  in.refuse();
  return {};
}

Value read_value(Reader& in) {
  switch (in.byte()) {
    case 0:
      return {};
    case 1:
      return in.number();
    case 2:
      return static_cast<std::int64_t>(in.number());
    case 3:
      return std::bit_cast<double>(in.number());
    case 4:
      return value_from<Digest>(in, in.text());
    case 5:
      return value_from<Exponents>(in, in.text());
    default:
      in.refuse();
      return {};
  }
}
static_assert(std::variant_size_v<Value> == 6);

void write_entry(const TensorRow& entry, Writer& out) {
  out.text(entry.path);
  out.byte((entry.tensor ? 1 : 0) | (entry.index ? 2 : 0));
  if (entry.tensor) out.text(*entry.tensor);
  if (entry.index) out.shape(*entry.index);
  const Identity& identity = entry.row.identity;
  for (const std::string* text : {&identity.op_type, &identity.op_name, &identity.io}) out.text(*text);
  for (const std::uint64_t number : {identity.task_id, identity.stream_id, identity.timestamp_us, identity.slot})
    out.number(number);
  out.small(identity.more.size());
  for (const auto& [name, cell] : identity.more) {
    out.text(name);
    out.byte(static_cast<std::uint8_t>(cell.index()));
    const auto* number = std::get_if<std::uint64_t>(&cell);
    number ? out.number(*number) : out.text(std::get<std::string>(cell));
  }
  out.number(entry.row.data_size_bytes);
  out.text(entry.row.data_type);
  out.shape(entry.row.shape);
}

void read_entry(Reader& in, TensorRow& entry) {
  entry.path = in.text();
  const std::uint8_t has = in.byte();
  if (has & 1) entry.tensor = in.text();
  if (has & 2) entry.index = in.shape();
  Identity& identity = entry.row.identity;
  for (std::string* text : {&identity.op_type, &identity.op_name, &identity.io}) *text = in.text();
  for (std::uint64_t* number : {&identity.task_id, &identity.stream_id, &identity.timestamp_us, &identity.slot})
    *number = in.number();
  for (std::uint32_t left = in.small(); left != 0 && in.is_right(); --left) {
    const std::string_view name = in.text();
    const bool is_number = in.byte() == 0;
    Cell cell = is_number ? Cell(in.number()) : Cell(std::string(in.text()));
    const Column* const column = column_named(name);
    if (column != nullptr && is_number != (column->kind == ColumnKind::kNumber)) in.refuse();
    identity.more.emplace_back(name, std::move(cell));
  }
  entry.row.data_size_bytes = in.number();
  entry.row.data_type = in.text();
  entry.row.shape = in.shape();
  // Readers of files ensure the same, and printing a row relies on it.
  if (entry.path.empty() || !is_data_type(entry.row.data_type)) in.refuse();
}

void read_engines(Reader& in, const PlanRequest& request, std::vector<std::string>& engines) {
  for (std::uint32_t left = in.small(); left != 0 && in.is_right(); --left) engines.emplace_back(in.text());
  if (engines.size() != 1 && engines.size() != request.measured.size()) in.refuse();
}

std::string framed(const std::string& content) {
  Writer frame;
  frame.small(content.size());
  frame.small(crc32_of(0, std::as_bytes(std::span(content))));
  return frame.take() + content;
}

Error damaged(std::string_view how) {
  return {Code::kUnreadable, "a damaged state (" + std::string(how) + "); fold its part again"};
}

// Takes the next record's content, after its CRC was checked.
Result<std::string_view> next_content(std::string_view& rest) {
  Reader frame(rest);
  const std::uint32_t bytes = frame.small(), crc = frame.small();
  if (!frame.is_right() || bytes > rest.size() - kFrameBytes) return damaged("it ends too early");
  const std::string_view content = rest.substr(kFrameBytes, bytes);
  if (crc32_of(0, std::as_bytes(std::span(content))) != crc) return damaged("a checksum is wrong");
  rest.remove_prefix(kFrameBytes + bytes);
  return content;
}

Result<StateHead> parse_head(std::string_view content) {
  Reader in(content);
  StateHead head;
  head.key = in.number();
  head.parts = in.small();
  head.records = in.number();
  head.faults = in.number();
  for (std::uint32_t left = in.small(); left != 0 && in.is_right(); --left) {
    head.part_numbers.push_back(in.small());
    const bool is_ascending =
        head.part_numbers.size() == 1 || head.part_numbers.back() > head.part_numbers[head.part_numbers.size() - 2];
    if (head.part_numbers.back() >= head.parts || !is_ascending) in.refuse();
  }
  std::string_view lines = in.text();
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (!parse_line(lines.substr(0, end), head.request)) in.refuse();
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  const bool makes_sense = in.is_at_end() && head.parts != 0 && head.parts <= kMostParts &&
                           !head.part_numbers.empty() && head.faults <= head.records && !head.request.asked.empty() &&
                           !head.request.measured.empty();
  if (!makes_sense) return damaged("its head makes no sense");
  return head;
}

Result<StateRecord> parse_record(std::string_view content, const PlanRequest& request) {
  Reader in(content);
  StateRecord record;
  const std::uint8_t kind = in.byte();
  record.kind = static_cast<StateRecord::Kind>(kind);
  for (std::uint64_t* number : {&record.file, &record.tensor, &record.row}) *number = in.number();
  switch (record.kind) {
    case StateRecord::Kind::kRow:
      read_entry(in, record.entry);
      read_engines(in, request, record.engines);
      record.entry.row.statistics.categories = request.measured;
      for (std::size_t i = 0; i < request.measured.size() && in.is_right(); ++i) {
        record.entry.row.statistics.values.push_back(read_value(in));
      }
      break;
    case StateRecord::Kind::kPiece:
      read_entry(in, record.entry);
      read_engines(in, request, record.engines);
      for (std::uint64_t* number : {&record.first, &record.count, &record.total}) *number = in.number();
      if (record.first > record.total || record.count > record.total - record.first) in.refuse();
      record.partial = in.text();
      break;
    case StateRecord::Kind::kFault:
      record.label = in.text();
      record.fault = in.text();
      record.is_for_device = in.byte() != 0;
      break;
    default:
      in.refuse();
  }
  if (!in.is_at_end()) return damaged("a record makes no sense");
  return record;
}

// The head, and calls each(content) for each record. All checksums are checked.
template <typename Each>
Result<StateHead> parse_all(std::string_view text, const Each& each) {
  if (!text.starts_with(kStateMagic)) {
    return Error{Code::kUnreadable, begins_as_state(text)
                                        ? "a state of another version of tensorstat; fold its part again with this one"
                                        : "not a state; `tensorstat fold` writes them"};
  }
  std::string_view rest = text.substr(kStateMagic.size());
  const auto first = next_content(rest);
  if (!first) return first.error();
  auto head = parse_head(*first);
  if (!head) return head;
  for (std::uint64_t i = 0; i < head->records; ++i) {
    const auto content = next_content(rest);
    if (!content) return content.error();
    if (Status read = each(*head, *content); !read) return read.error();
  }
  if (!rest.empty()) return damaged("it is too long");
  return head;
}

}  // namespace

std::string written(const StateHead& head) {
  Writer out;
  out.number(head.key);
  out.small(head.parts);
  out.number(head.records);
  out.number(head.faults);
  out.small(head.part_numbers.size());
  for (const std::uint32_t part : head.part_numbers) out.small(part);
  out.text(text_of(head.request));
  return std::string(kStateMagic) + framed(out.take());
}

std::string written(const StateRecord& record) {
  Writer out;
  out.byte(static_cast<std::uint8_t>(record.kind));
  for (const std::uint64_t number : {record.file, record.tensor, record.row}) out.number(number);
  if (record.kind == StateRecord::Kind::kFault) {
    out.text(record.label);
    out.text(record.fault);
    out.byte(record.is_for_device ? 1 : 0);
    return framed(out.take());
  }
  write_entry(record.entry, out);
  out.small(record.engines.size());
  for (const std::string& engine : record.engines) out.text(engine);
  if (record.kind == StateRecord::Kind::kRow) {
    for (const Value& value : record.entry.row.statistics.values) write_value(value, out);
  } else {
    for (const std::uint64_t number : {record.first, record.count, record.total}) out.number(number);
    out.text(record.partial);
  }
  return framed(out.take());
}

bool begins_as_state(std::string_view text) { return text.starts_with(kStateMagic.substr(0, kStateMagic.size() - 1)); }

Result<PartState> parse_state(std::string_view text) {
  std::vector<StateRecord> records;
  const auto add = [&](const StateHead& head, std::string_view content) -> Status {
    auto record = parse_record(content, head.request);
    if (!record) return record.error();
    records.push_back(*std::move(record));
    return {};
  };
  auto head = parse_all(text, add);
  if (!head) return head.error();
  const auto faults = std::ranges::count(records, StateRecord::Kind::kFault, &StateRecord::kind);
  if (static_cast<std::uint64_t>(faults) != head->faults) return damaged("its head makes no sense");
  return PartState{*std::move(head), std::move(records)};
}

Result<StateHead> parse_state_head(std::string_view text) {
  return parse_all(text, [](auto&&...) { return Status(); });
}

}  // namespace tensorstat
