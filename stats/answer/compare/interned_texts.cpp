#include "stats/answer/compare/interned_texts.hpp"

#include <algorithm>
#include <functional>

namespace tensorstat {
namespace {

constexpr std::size_t kLeastPlaces = 64, kBlockBytes = std::size_t{64} << 10;

std::uint32_t hash_of(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

}  // namespace

// The slot of the text, or the free slot where it belongs. The table is never full.
const InternedTexts::Place& InternedTexts::place_of(std::string_view text, std::uint32_t hash) const {
  for (std::size_t slot = hash;; ++slot) {
    const Place& place = places_[slot & (places_.size() - 1)];
    if (place.id == kNone || (place.hash == hash && texts_[place.id] == text)) return place;
  }
}

std::uint32_t InternedTexts::find(std::string_view text) const {
  return places_.empty() ? kNone : place_of(text, hash_of(text)).id;
}

std::uint32_t InternedTexts::id(std::string_view text) {
  if (2 * texts_.size() >= places_.size()) grow();
  const std::uint32_t hash = hash_of(text);
  const Place& place = place_of(text, hash);
  if (place.id != kNone) return place.id;
  texts_.push_back(kept(text));
  const auto id = static_cast<std::uint32_t>(texts_.size() - 1);
  places_[static_cast<std::size_t>(&place - places_.data())] = {hash, id};
  return id;
}

void InternedTexts::grow() {
  std::vector<Place> places(std::max(kLeastPlaces, 2 * places_.size()));
  for (const Place& place : places_) {
    if (place.id == kNone) continue;
    std::size_t slot = place.hash;
    while (places[slot & (places.size() - 1)].id != kNone) ++slot;
    places[slot & (places.size() - 1)] = place;
  }
  places_ = std::move(places);
}

// Long texts have a block of their own, behind which the one that is being filled stays the last.
std::string_view InternedTexts::kept(std::string_view text) {
  if (text.empty()) return "";  // there may be no block yet
  if (text.size() > kBlockBytes) {
    const auto own = blocks_.insert(blocks_.begin(), std::make_unique_for_overwrite<char[]>(text.size()));
    std::ranges::copy(text, own->get());
    return {own->get(), text.size()};
  }
  if (text.size() > left_bytes_) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlockBytes));
    left_bytes_ = kBlockBytes;
  }
  char* const to = blocks_.back().get() + (kBlockBytes - left_bytes_);
  std::ranges::copy(text, to);
  left_bytes_ -= text.size();
  return {to, text.size()};
}

}  // namespace tensorstat
