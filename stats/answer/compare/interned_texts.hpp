// Texts that come again and again, each kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tensorstat {

// Each text once, known by a number; millions of them.
class InternedTexts {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t id(std::string_view text);
  // The number of a text that is here; kNone where it is not.
  std::uint32_t find(std::string_view text) const;
  // Good as long as this lives, wherever it is moved to.
  std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  // std::unordered_map instead made `diff` of twice a million rows take 1.8 times the processor's time.
  // A slot of an open-addressed table. Its size is a power of 2, and at least half of it is free. The hashes lie side
  // by side, and mostly they alone show that a text is not here.
  struct Place {
    std::uint32_t hash = 0, id = kNone;
  };

  const Place& place_of(std::string_view text, std::uint32_t hash) const;
  void grow();
  std::string_view kept(std::string_view text);

  std::vector<std::string_view> texts_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t left_bytes_ = 0;  // of the last block
};

}  // namespace tensorstat
