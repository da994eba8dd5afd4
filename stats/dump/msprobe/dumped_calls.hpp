// What a dump.json of msprobe says of the files of tensors beside it.
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
  std::string op_type, op_name;  // as rows of the dump.json have them
  std::string layout;            // as CallLayout takes it; "" where it is not known
  std::uint64_t number = 0;      // in the order of the dump.json
};

struct DumpedLeaf {
  std::shared_ptr<const DumpedCall> call;
  bool is_output = false;
  std::uint64_t slot = 0;  // among the inputs or outputs of the call, as its layout has it
  bool requires_grad = false;
};

// Remembers each dump.json that it read.
class DumpedCalls {
 public:
  // `unreadable` is told, once, of a dump.json that cannot be read, or not to its end.
  explicit DumpedCalls(std::function<void(const Error&)> unreadable) : unreadable_(std::move(unreadable)) {}

  // Of a file in a folder dump_tensor_data, by the name that it has without the ending: msprobe writes .pt files, too,
  // and people turn these into .npy. nullptr where the dump.json beside the folder is not there, or does not name it.
  const DumpedLeaf* leaf_of(const std::string& path, std::string_view name);

 private:
  using Leaves = std::map<std::string, DumpedLeaf, std::less<>>;
  Leaves read(const std::string& dump_json) const;

  const std::function<void(const Error&)> unreadable_;
  std::map<std::string, Leaves> folders_;
};

}  // namespace tensorstat
