#include "stats/job/dump/msprobe/call_scope.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kForwardPart = ".forward.", kBackwardPart = ".backward.";

// The key of a module's call in the other direction; "" of other keys.
std::string turned(std::string_view key, std::string_view from, std::string_view to) {
  const auto position = key.rfind(from);
  if (position == key.npos) return {};
  return std::string(key.substr(0, position)).append(to).append(key.substr(position + from.size()));
}

}  // namespace

void CallScope::note_parent(std::string_view key, std::string_view parent) {
  if (opens_with_module_) parents_.insert_or_assign(std::string(key), std::string(parent));
}

// In backward the parent of a call may be known of its forward only.
std::string CallScope::parent_of(const std::string& key) const {
  if (const auto known = parents_.find(key); known != parents_.end()) return known->second;
  const auto forward = parents_.find(turned(key, kBackwardPart, kForwardPart));
  return forward == parents_.end() ? "" : turned(forward->second, kForwardPart, kBackwardPart);
}

bool CallScope::is_inside_first(std::string_view key) const {
  constexpr int kMostLevels = 64;
  std::string above = parent_of(std::string(key));
  for (int level = 0; level < kMostLevels && !above.empty(); ++level) {
    if (above == bounds_->first) return true;
    above = parent_of(above);
  }
  return false;
}

bool CallScope::opens(const Run& run, const State& state) const {
  if (!opens_with_module_) return run.key == bounds_->first;
  if (state.opened_in == run.step) return false;  // a module's call begins once
  return run.key == bounds_->first || is_inside_first(run.key);
}

bool CallScope::sees(const Run& run) {
  if (!bounds_) return true;
  State& state = states_[run.rank];
  if (opens(run, state)) {
    state.is_open = has_opened_ = true;
    state.opened_in = run.step;
  }
  const bool is_in = state.is_open;
  const bool is_at_end = !run.is_module || run.has_results || !run.is_first;
  if (run.key == bounds_->second && is_at_end) state.is_open = false;
  return is_in;
}

}  // namespace tensorstat
