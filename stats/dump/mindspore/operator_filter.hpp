// The `kernels` key of data_dump.json: which operators are dumped.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/dump/mindspore/pattern.hpp"

namespace tensorstat {

// An entry is one of three, once its spaces and double quotes are taken out:
//   name-regex(R)        the full scope name matches R as a whole (pattern.hpp)
//   has a / or an -op    the full scope name is this one, case-sensitively
//   anything else        an operator type: the last part of the scope name, up to its last -,
//                        contains it, whatever the case
// Empty entries count for nothing; without any other entry every operator is wanted.
class OperatorFilter {
 public:
  // An error names the entry that is wrong, and why.
  static Result<OperatorFilter> parse(const std::vector<std::string>& entries);

  // Thread-safe. Notes which entries ever matched.
  bool wants(std::string_view full_scope_name) const;

  // The same for an operator that is known from a file's name.
  bool wants_escaped(std::string_view op_type, std::string_view escaped_name) const;

  // Entries that matched no operator so far, as they were written.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    enum class Kind { kPattern, kName, kType } kind;
    std::string written;
    std::string text;  // kName; kType in lower case
    Pattern pattern;   // kPattern
  };

  template <typename Matches>
  bool any(Matches matches) const;

  std::vector<Entry> entries_;  // patterns, then names, then types: the order they are tried in
  std::shared_ptr<std::vector<std::atomic<bool>>> used_;
};

}  // namespace tensorstat
