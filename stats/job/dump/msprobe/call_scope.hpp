// The part of a step that `scope` of msprobe's config.json selects: from the call `first` to the call `last`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stats/job/dump/msprobe/api_name.hpp"

namespace tensorstat {

// A call of an API opens or closes the scope as a whole. A module opens it before it runs and closes it behind its
// results, so that [a, a] is `a` with all that runs inside. The scope must see each run, also of calls that are not
// dumped. One scope a rank; a scope that stays open goes on in the next step, as in msprobe.
class CallScope {
 public:
  using Bounds = std::optional<std::pair<std::string, std::string>>;

  struct Run {
    std::uint32_t rank = 0;
    std::uint64_t step = 0;
    std::string_view key;
    bool is_module = false;
    bool is_first = false;     // of its call
    bool has_results = false;  // of its call
  };

  explicit CallScope(Bounds bounds)
      : bounds_(std::move(bounds)),
        opens_with_module_(bounds_ && api_name_of("", bounds_->first).kind == ApiName::Kind::kModule) {}

  bool is_set() const { return bounds_.has_value(); }
  // Its first call, if that did not come.
  std::optional<std::string> missed() const {
    if (!bounds_ || has_opened_) return std::nullopt;
    return bounds_->first;
  }

  // The call that runs around this one. Needed for modules that are handed over only behind what runs inside of them,
  // as in backward.
  void note_parent(std::string_view key, std::string_view parent);

  // Whether the run is in the scope. Call it for each run, in order.
  bool sees(const Run& run);

 private:
  struct State {
    bool is_open = false;
    std::optional<std::uint64_t> opened_in;  // the last step in which it was opened
  };

  bool opens(const Run& run, const State& state) const;
  std::string parent_of(const std::string& key) const;
  bool is_inside_first(std::string_view key) const;

  const Bounds bounds_;
  const bool opens_with_module_;
  bool has_opened_ = false;
  std::map<std::uint32_t, State> states_;                    // by rank
  std::map<std::string, std::string, std::less<>> parents_;  // by key
};

}  // namespace tensorstat
