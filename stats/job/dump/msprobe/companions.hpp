// stack.json and construct.json: the stack of each call, and the module that contains it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

// The caller's description of an operator.
struct Description {
  std::vector<std::string> stack;
  std::string parent;  // "": none
};

// The companions of one step. They are small, so each save writes them whole.
class Companions {
 public:
  // `has_files`: the config's extra_info. `has_parents`: false for level L1, which leaves construct.json empty.
  Companions(std::string folder, bool has_files, bool has_parents)
      : folder_(std::move(folder)), has_parents_(has_parents), is_waiting_(has_files), has_files_(has_files) {}

  // false: no room. `total_bytes` counts all steps.
  bool add(const std::string& key, const Description& description, std::uint64_t& total_bytes,
           std::uint64_t most_bytes);

  std::uint64_t bytes() const { return bytes_; }
  bool is_waiting() const { return is_waiting_; }  // there is something to write
  Status save(bool synced);

 private:
  const std::string folder_;
  const bool has_parents_;
  bool is_waiting_;
  const bool has_files_;
  std::uint64_t bytes_ = 0;
  std::string construct_;                                    // the members of construct.json
  std::map<std::vector<std::string>, std::string> callers_;  // names of calls, by stack
};

}  // namespace tensorstat
