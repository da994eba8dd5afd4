#include "stats/data/rows/names/mindspore_file_name.hpp"

#include <algorithm>
#include <charconv>

#include "stats/data/files/ascend/dump_data.hpp"
#include "stats/data/files/ascend/operator_run_name.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kExtension = ".npy", kOfSeveral = ".bin";
constexpr std::size_t kUsualCells = 2;  // cells of a tensor in a container: its name, and the path of the file
constexpr int kMostTrailing = 2;        // parts after the slot: format and dtype

// Removes the last part of a name; false if it or the rest is empty.
bool take_last(std::string_view& name, std::string_view& part) {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos || dot == 0 || dot + 1 == name.size()) return false;
  part = name.substr(dot + 1);
  name = name.substr(0, dot);
  return true;
}

// Removes "input" or "output" and a slot at the end of a name.
bool take_slot(std::string_view& name, Identity& identity) {
  std::string_view slot, io;
  if (!take_last(name, slot)) return false;
  const std::size_t dot = name.rfind('.');
  io = name.substr(dot + 1);  // npos + 1 is 0
  name = name.substr(0, dot == name.npos ? 0 : dot);
  const auto [end, error] = std::from_chars(slot.data(), slot.data() + slot.size(), identity.slot);
  if (error != std::errc() || end != slot.data() + slot.size() || (io != "input" && io != "output")) return false;
  identity.io = io;
  return true;
}

bool take_run(std::string_view name, Identity& identity) {
  const auto run = OperatorRunName::from(name);
  if (!run) return false;
  identity.op_type = run->op_type;
  identity.op_name = run->op_name;
  // A parameter's name may keep its dots: "Parameter.fc2.bias.0.0.2".
  constexpr std::string_view kParameter = "Parameter.";
  if (run->op_type.starts_with(kParameter)) {
    identity.op_type = kParameter.substr(0, kParameter.size() - 1);
    identity.op_name = std::string(run->op_type.substr(kParameter.size())) + "." + std::string(run->op_name);
  }
  identity.task_id = run->task_id;
  identity.stream_id = run->stream_id;
  identity.timestamp_us = run->timestamp_us;
  return true;
}

std::optional<NamedTensor> named_in_npy(std::string_view stem) {
  for (int trailing = kMostTrailing; trailing >= 0; --trailing) {
    std::string_view name = stem, part, dtype;
    bool is_long_enough = true;
    for (int i = 0; i < trailing; ++i) {
      is_long_enough = is_long_enough && take_last(name, part);
      if (i == 0 && trailing == kMostTrailing) dtype = part;
    }
    NamedTensor named;
    if (is_long_enough && take_slot(name, named.identity) && take_run(name, named.identity)) {
      named.original_dtype = lower_case(dtype);
      if (dump_format(part) != dump_format("")) named.format = part;  // the part taken last
      return named;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Identity> named_run(std::string_view path) {
  std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (stem.ends_with(kOfSeveral)) stem.remove_suffix(kOfSeveral.size());
  Identity identity;
  if (!take_run(stem, identity)) return std::nullopt;
  return identity;
}

bool is_named_as_bits(std::string_view path) {
  const std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const std::string_view type = stem.substr(stem.rfind('.') + 1);
  const auto is_of_type = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  if (type.empty() || type[0] < 'A' || !std::ranges::all_of(type, is_of_type)) return false;
  const auto named = named_in_npy(stem);
  return named && !named->format.empty() && !named->original_dtype.empty();
}

bool read_slot(std::string_view text, Identity& identity) { return take_slot(text, identity) && text.empty(); }

NamedTensor named_tensor(std::string_view path, std::uint64_t modified_us, const std::optional<std::string>& tensor) {
  std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (tensor) {
    auto run = named_run(stem);
    if (run && read_slot(*tensor, *run)) return {*std::move(run), ""};
  } else if (stem.ends_with(kExtension) && stem.size() > kExtension.size()) {
    stem.remove_suffix(kExtension.size());
    if (auto named = named_in_npy(stem)) return *std::move(named);
  }
  NamedTensor plain;
  plain.identity.more.reserve(kUsualCells);
  plain.identity.op_name = tensor ? std::string_view(*tensor) : stem;
  plain.identity.timestamp_us = modified_us;
  return plain;
}

}  // namespace tensorstat
