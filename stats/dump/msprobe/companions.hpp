// stack.json and construct.json: where calls come from, and which module each is a part of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

// What the caller said of an operator.
struct Description {
  std::vector<std::string> stack;
  std::string parent;  // "": none
};

// Those of one step. They are small, and written as a whole.
class Companions {
 public:
  // `has_files`: extra_info. `has_parents`: construct.json is empty for level L1.
  Companions(std::string folder, bool has_files, bool has_parents)
      : folder_(std::move(folder)), has_parents_(has_parents), is_waiting_(has_files), has_files_(has_files) {}

  // Whether there was room: `total_bytes` is of all steps.
  bool add(const std::string& key, const Description& description, std::uint64_t& total_bytes, std::uint64_t most_bytes);

  std::uint64_t bytes() const { return bytes_; }
  bool is_waiting() const { return is_waiting_; }  // the files lack something
  Status save(bool synced);

 private:
  const std::string folder_;
  const bool has_parents_;
  bool is_waiting_;
  const bool has_files_;
  std::uint64_t bytes_ = 0;
  std::string construct_;                                    // the members of construct.json
  std::map<std::vector<std::string>, std::string> callers_;  // the names of the calls, by stack
};

}  // namespace tensorstat
