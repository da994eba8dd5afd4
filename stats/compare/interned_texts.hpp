// Texts that come again and again, each kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensorstat {

// Each text once, known by a number; millions of them.
class Texts {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t id(std::string_view text);
  // The number of a text that is here; kNone where it is not.
  std::uint32_t find(std::string_view text) const;
  // Good as long as this lives, wherever it is moved to.
  std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unique_ptr<std::pmr::monotonic_buffer_resource> bytes_;  // of the texts
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

}  // namespace tensorstat
