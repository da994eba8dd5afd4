#include "stats/dump/msprobe/dumped_calls.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "stats/rows/dump_json/dump_json.hpp"

namespace tensorstat {
namespace {

std::string_view without_ending(std::string_view name) {
  for (const std::string_view ending : {".npy", ".pt"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

}  // namespace

const DumpedLeaf* DumpedCalls::leaf_of(const std::string& path, std::string_view name) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.filename() != "dump_tensor_data") return nullptr;
  auto known = folders_.find(folder.string());
  if (known == folders_.end()) {
    known = folders_.emplace(folder.string(), read((folder.parent_path() / "dump.json").string())).first;
  }
  const auto leaf = known->second.find(without_ending(name));
  return leaf == known->second.end() ? nullptr : &leaf->second;
}

DumpedCalls::Leaves DumpedCalls::read(const std::string& dump_json) const {
  Leaves leaves;
  std::error_code ignored;
  if (!std::filesystem::exists(dump_json, ignored)) return leaves;
  std::uint64_t number = 0;
  CallListener listener;
  listener.ends = [&](CallRead&& call) {
    const auto shared = std::make_shared<const DumpedCall>(
        DumpedCall{std::move(call.op_type), std::move(call.op_name), std::move(call.layout), number++});
    for (const CallFile& file : call.files) {
      leaves.emplace(without_ending(file.name), DumpedLeaf{shared, file.is_output, file.slot, file.requires_grad});
    }
    return Status();
  };
  const auto read = read_calls_of_file(
      dump_json, [](Row&&) { return Status(); }, listener);
  if (!read) unreadable_(read.error());
  return leaves;
}

}  // namespace tensorstat
