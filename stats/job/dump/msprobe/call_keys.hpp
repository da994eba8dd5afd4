// Unique keys for the calls of a dump.json.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "stats/job/dump/msprobe/api_name.hpp"

namespace tensorstat {

// Memory grows with the number of calls.
class CallKeys {
 public:
  // The key of the next call with this name. Uses the count in the name. If there is none, or that key is taken, uses
  // the lowest free count above the earlier ones.
  std::string next(const ApiName& name) {
    Counts& counts = counts_[name.family()];
    std::uint64_t count = name.count.value_or(counts.next);
    while (!counts.taken.insert(count).second) count = counts.next++;
    return name.key(count);
  }

 private:
  struct Counts {
    std::set<std::uint64_t> taken;
    std::uint64_t next = 0;
  };
  std::map<std::string, Counts> counts_;
};

}  // namespace tensorstat
