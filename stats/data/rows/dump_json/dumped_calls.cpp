#include "stats/data/rows/dump_json/dumped_calls.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "stats/data/files/io/folders.hpp"
#include "stats/data/rows/dump_json/dump_json.hpp"
#include "stats/data/rows/names/msprobe_file_name.hpp"
#include "stats/data/rows/rows_of_file.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTensorFolder = "dump_tensor_data";

std::string_view without_ending(std::string_view name) {
  for (const std::string_view ending : {".npy", ".pt"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

// The time of the last write to a file; 0 if unknown.
std::uint64_t written_at_us(const std::string& path) {
  using std::chrono::microseconds;
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return 0;
  const auto since_epoch = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(since_epoch).count());
}

// A file of a call, before its time and its slot are known.
struct CallTensor {
  DumpedLeaf* leaf;
  std::uint64_t written_at_us;
  bool has_slot;
};

// The tensors of one call.
void complete_call(const std::vector<CallTensor>& tensors) {
  std::uint64_t earliest = ~std::uint64_t{0};
  std::map<std::string, std::uint64_t> next_slot;  // by io
  for (const CallTensor& tensor : tensors) {
    const Identity& identity = tensor.leaf->identity;
    earliest = std::min(earliest, tensor.written_at_us);
    if (tensor.has_slot) next_slot[identity.io] = std::max(next_slot[identity.io], identity.slot + 1);
  }
  for (const CallTensor& tensor : tensors) {
    Identity& identity = tensor.leaf->identity;
    identity.timestamp_us = std::max<std::uint64_t>(earliest, 1);
    if (!tensor.has_slot) identity.slot = next_slot[identity.io]++;
  }
}

}  // namespace

const DumpedLeaf* DumpedCalls::leaf_of(const std::string& path) {
  const std::string name = names_.name_of(path);
  const std::string folder = fs::path(path).parent_path().string();
  if (!is_read_ || folder != folder_) {
    // A folder of other files is not listed.
    if (fs::path(folder).filename() != kTensorFolder && !msprobe_tensor_name(name)) return nullptr;
    read_folder(folder);
  }
  const auto leaf = leaves_.find(without_ending(name));
  return leaf == leaves_.end() ? nullptr : &leaf->second;
}

void DumpedCalls::read_folder(const std::string& folder) {
  folder_ = folder;
  is_read_ = true;
  leaves_.clear();
  if (fs::path(folder).filename() == kTensorFolder) {
    leaves_ = read((fs::path(folder).parent_path() / "dump.json").string());
  }
  std::map<std::string, std::vector<CallTensor>> calls;  // by key
  std::vector<Error> ignored;                            // the walk that found the file says them
  for (const FolderEntry& entry : entries_of(folder.empty() ? "." : folder, ignored)) {
    if (entry.is_folder) continue;
    const std::string name = names_.name_of((fs::path(folder) / fs::path(entry.path).filename()).string());
    auto leaf = leaves_.find(without_ending(name));
    bool has_slot = true;
    if (leaf == leaves_.end()) {
      auto named = msprobe_tensor_name(name);
      if (!named) continue;
      has_slot = named->is_numbered;
      named->identity.set("tensor", std::string(without_ending(name)));
      leaf = leaves_.emplace(without_ending(name), DumpedLeaf{std::move(named->identity)}).first;
    }
    calls[leaf->second.identity.op_name].push_back({&leaf->second, written_at_us(entry.path), has_slot});
  }
  std::map<std::uint64_t, const std::vector<CallTensor>*> listed;  // by the number in the dump.json
  for (const auto& [key, tensors] : calls) {
    complete_call(tensors);
    if (const auto& call = tensors.front().leaf->call) listed.emplace(call->number, &tensors);
  }
  std::uint64_t last = 0;
  for (const auto& [number, tensors] : listed) {
    last = std::max(last, tensors->front().leaf->identity.timestamp_us);
    for (const CallTensor& tensor : *tensors) tensor.leaf->identity.timestamp_us = last;
  }
}

DumpedCalls::Leaves DumpedCalls::read(const std::string& dump_json) const {
  Leaves leaves;
  std::error_code ignored;
  if (!fs::exists(dump_json, ignored)) return leaves;
  std::uint64_t number = 0;
  CallListener listener;
  listener.ends = [&](CallRead&& call) {
    const auto shared = std::make_shared<const DumpedCall>(DumpedCall{std::move(call.layout), number++});
    for (const CallFile& file : call.files) {
      DumpedLeaf leaf{.identity = {}, .requires_grad = file.requires_grad, .call = shared};
      leaf.identity.op_type = call.op_type;
      leaf.identity.op_name = call.op_name;
      leaf.identity.io = file.is_output ? "output" : "input";
      leaf.identity.slot = file.slot;
      leaf.identity.set("tensor", std::string(without_ending(file.name)));
      leaves.emplace(without_ending(file.name), std::move(leaf));
    }
    return Status();
  };
  const auto read = read_calls_of_file(
      dump_json, [](Row&&) { return Status(); }, listener);
  if (!read) unreadable_(read.error());
  return leaves;
}

}  // namespace tensorstat
