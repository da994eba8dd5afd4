// The `kernels` key of data_dump.json: which operators are dumped.
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

#include "stats/base/regex.hpp"

namespace tensorstat {

// An entry is one of three, once its spaces and double quotes are taken out:
//   name-regex(R)        the full scope name matches R as a whole (pattern.hpp)
//   has a / or an -op    the full scope name is this one, case-sensitively
//   anything else        an operator type: the last part of the scope name, up to its last -,
//                        contains it, whatever the case
// Empty entries count for nothing; without any other entry every operator is wanted.
// Names and types are looked up, however many there are; only patterns are tried one after another.
class OperatorFilter {
 public:
  static constexpr std::size_t kMostEntries = 100'000, kMostPatterns = 4'096;

  // An error names the entry that is wrong and why, or the limit above that is passed.
  static Result<OperatorFilter> parse(const std::vector<std::string>& entries);

  // Thread-safe. Notes which entries ever matched.
  bool wants(std::string_view full_scope_name) const;

  // The same for an operator that is known from a file's name.
  bool wants_escaped(std::string_view op_type, std::string_view escaped_name) const;

  // Entries that matched no operator so far, as they were written.
  std::vector<std::string> unused() const;

 private:
  // An entry's text to the entry's place in written_.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Index = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

  bool note(std::optional<std::size_t> entry) const;
  std::optional<std::size_t> type_in(std::string_view type) const;

  std::vector<std::string> written_;  // patterns, then names, then types: the order they are tried in
  std::vector<Pattern> patterns_;     // of the first entries
  Index names_, escaped_names_;
  std::map<std::size_t, Index> types_;  // by their length, in lower case
  std::shared_ptr<std::vector<std::atomic<bool>>> used_;
};

}  // namespace tensorstat
