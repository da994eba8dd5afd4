// Looks up a tensor file of msprobe in the dump.json beside its folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

struct DumpedCall {
  std::string op_type, op_name;  // as in the rows of the dump.json
  std::string layout;            // as CallLayout takes it; "" if unknown
  std::uint64_t number = 0;      // position of the call in the dump.json
};

struct DumpedLeaf {
  std::shared_ptr<const DumpedCall> call;
  bool is_output = false;
  std::uint64_t slot = 0;  // among the inputs or outputs of the call, as counted by its layout
  bool requires_grad = false;
};

// Reads each dump.json only once.
class DumpedCalls {
 public:
  // `unreadable` is called once for each dump.json that cannot be read, or not to its end.
  explicit DumpedCalls(std::function<void(const Error&)> unreadable) : unreadable_(std::move(unreadable)) {}

  // `path` is a file in a folder dump_tensor_data. `name` is its name without the ending, because msprobe also writes
  // .pt files and people convert these to .npy. nullptr if there is no dump.json beside the folder, or if it does not
  // list the file.
  const DumpedLeaf* leaf_of(const std::string& path, std::string_view name);

 private:
  using Leaves = std::map<std::string, DumpedLeaf, std::less<>>;
  Leaves read(const std::string& dump_json) const;

  const std::function<void(const Error&)> unreadable_;
  std::map<std::string, Leaves> folders_;
};

}  // namespace tensorstat
