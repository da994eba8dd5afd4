#include "stats/compare/interned_texts.hpp"

#include <algorithm>

namespace tensorstat {

std::uint32_t Texts::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? kNone : found->second;
}

std::uint32_t Texts::id(std::string_view text) {
  if (const std::uint32_t known = find(text); known != kNone) return known;
  if (bytes_ == nullptr) bytes_ = std::make_unique<std::pmr::monotonic_buffer_resource>();
  char* const kept = static_cast<char*>(bytes_->allocate(text.size(), 1));
  std::ranges::copy(text, kept);
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(kept, text.size());
  ids_.emplace(texts_.back(), id);
  return id;
}

}  // namespace tensorstat
