// The `kernels` key of data_dump.json: the operators to dump.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <unordered_map>
#include <vector>

#include "stats/data/text/regex.hpp"

namespace tensorstat {

// An entry is one of three kinds, after its spaces and double quotes are removed:
//   name-regex(R)        matches if the whole full scope name matches R (pattern.hpp)
//   has a / or an -op    matches the full scope name exactly, case-sensitively
//   anything else        matches if it is a substring of the operator's type, in any case. The type is the last
//                        part of the scope name, up to its last -
// Empty entries are ignored. Without entries every operator is wanted. Names and types cost one look-up each. Patterns
// are tried one after another.
class OperatorFilter {
 public:
  static constexpr std::size_t kMostEntries = 100'000, kMostPatterns = 4'096;

  // An error names the wrong entry and the reason, or the limit that is exceeded.
  static Result<OperatorFilter> parse(const std::vector<std::string>& entries);

  // Thread-safe. Remembers which entries matched.
  bool wants(std::string_view full_scope_name) const;

  // The same for an operator that is known only by a file name.
  bool wants_escaped(std::string_view op_type, std::string_view escaped_name) const;

  // Entries that matched no operator so far, as they were written.
  std::vector<std::string> unused() const;

 private:
  // Maps an entry's text to its index in written_.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Index = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

  bool note(std::optional<std::size_t> entry) const;
  std::optional<std::size_t> type_in(std::string_view type) const;

  std::vector<std::string> written_;  // patterns, then names, then types: the order of matching
  std::vector<Regex> patterns_;       // the first entries of written_
  Index names_, escaped_names_;
  std::map<std::size_t, Index> types_;  // by length, in lower case
  std::shared_ptr<std::vector<std::atomic<bool>>> used_;
};

}  // namespace tensorstat
