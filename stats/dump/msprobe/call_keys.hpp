// The keys of a dump.json's calls, of which no two are the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "stats/dump/msprobe/api_name.hpp"

namespace tensorstat {

// Memory grows with the calls.
class CallKeys {
 public:
  // The key of the next call of this name: with the count that the name has, or, where it has none or that is taken,
  // the least that is free after those before.
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
