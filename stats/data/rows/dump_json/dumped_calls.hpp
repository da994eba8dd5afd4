// Identifies msprobe's files of tensors, by their names and the dump.json beside their folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <tensorstat/status.hpp>

#include "stats/data/files/ascend/long_name.hpp"

namespace tensorstat {

struct DumpedCall {
  std::string layout;        // as CallLayout takes it; "" if unknown
  std::uint64_t number = 0;  // position of the call in the dump.json
};

struct DumpedLeaf {
  // As in the rows of a dump.json: op_name is the key of the call, `more` has "tensor". The time is the time at which
  // the first file of the call was written. Where a dump.json lists the files, times ascend in its order, because
  // copied files may have the times of the copy.
  Identity identity;
  bool requires_grad = false;
  std::shared_ptr<const DumpedCall> call = {};  // nullptr if no dump.json lists the file
};

// Reads each folder and its dump.json when its first file is asked for, and keeps the last one.
class DumpedCalls {
 public:
  // `unreadable` is called for each dump.json that cannot be read, or not to its end. `names` outlives this.
  DumpedCalls(LongNames& names, std::function<void(const Error&)> unreadable)
      : names_(names), unreadable_(std::move(unreadable)) {}

  // nullptr if neither a dump.json beside a folder dump_tensor_data nor the name of the file says that it is a tensor
  // of a call. The ending does not matter to the dump.json: msprobe also writes .pt files, and people convert these to
  // .npy. Without a dump.json, what lies in a list or has a name gets the slots behind the numbered ones, in the order
  // of the names. Valid until a file of another folder is asked for.
  const DumpedLeaf* leaf_of(const std::string& path);

 private:
  using Leaves = std::map<std::string, DumpedLeaf, std::less<>>;  // by names of files, without ending
  void read_folder(const std::string& folder);
  Leaves read(const std::string& dump_json) const;

  LongNames& names_;
  const std::function<void(const Error&)> unreadable_;
  std::string folder_;
  bool is_read_ = false;
  Leaves leaves_;
};

}  // namespace tensorstat
