// An element of a tensor with strides or tiles is the one that its indices name, whether all of it is held in memory or
// it is read block by block.
#include "stats/data/files/io/tiled_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace tiled_bytes_test {

class Memory : public ByteSource {
 public:
  explicit Memory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t modified_us() const override { return 0; }
  bool seeks() const override { return true; }
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (offset_bytes > bytes_.size() || out.size() > bytes_.size() - offset_bytes) {
      return Error{Code::kUnreadable, "beyond the end"};
    }
    std::ranges::copy(std::span(bytes_).subspan(offset_bytes, out.size()), out.begin());
    return {};
  }

 private:
  const std::string path_ = "memory";
  const std::vector<std::byte> bytes_;
};

struct Axis {
  std::uint64_t length, block, outer_stride, inner_stride;
};

// The elements by nested counting: indices go up like the digits of a number, and each is divided by hand.
std::vector<std::byte> expected(const std::vector<std::byte>& all, const std::vector<Axis>& axes, std::size_t base,
                                std::size_t size) {
  std::vector<std::byte> elements;
  std::vector<std::uint64_t> index(axes.size(), 0);
  for (;;) {
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::uint64_t block = 0, in_block = index[i];
      for (; in_block >= axes[i].block; in_block -= axes[i].block) ++block;
      offset += block * axes[i].outer_stride + in_block * axes[i].inner_stride;
    }
    elements.insert(elements.end(), all.begin() + static_cast<std::ptrdiff_t>(base + offset * size),
                    all.begin() + static_cast<std::ptrdiff_t>(base + (offset + 1) * size));
    std::size_t i = axes.size();
    while (i-- > 0 && ++index[i] == axes[i].length) index[i] = 0;
    if (i == SIZE_MAX) return elements;
  }
}

TEST(TiledBytes, AreTheElementsOfTheirIndices) {
  std::mt19937_64 random(samples::seed());
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t size = std::size_t{1} << below(4), base = below(20);
    std::vector<Axis> axes;
    std::uint64_t span = 1, elements = 1;
    for (std::uint64_t left = 1 + below(3); left-- > 0;) {
      const std::uint64_t length = 1 + below(20), block = below(2) == 0 ? length : 1 + below(length);
      // Some strides leave holes of more than 4 KiB, at which elements are read alone.
      const std::uint64_t inner = below(5) == 0 ? below(3) * 700 : below(4),
                          outer = below(3) == 0 ? below(900) : below(40);
      axes.push_back({length, block, outer, inner});
      span += (length - 1) / block * outer + (block - 1) * inner;
      elements *= length;
    }
    std::vector<std::byte> all(base + span * size);
    for (std::byte& each : all) each = static_cast<std::byte>(random());
    const auto wanted = expected(all, axes, base, size);
    ASSERT_EQ(elements * size, wanted.size());
    for (const std::uint64_t most_held : {std::uint64_t{0}, span * size}) {
      Tiles tiles{.at_bytes = base, .span_bytes = span * size, .element_bytes = size, .axes = {}};
      tiles.most_held_bytes = most_held;
      for (const Axis& axis : axes)
        tiles.axes.push_back({axis.length, axis.block, axis.outer_stride, axis.inner_stride});
      const auto source = tiled_bytes(std::make_unique<Memory>(all), tiles);
      std::vector<std::byte> got(wanted.size());
      for (std::uint64_t first = 0; first < elements;) {
        const std::uint64_t count = 1 + below(elements - first);
        const Status read = source->read_at(first * size, std::span(got).subspan(first * size, count * size));
        ASSERT_TRUE(read) << read.error().message;
        first += count;
      }
      ASSERT_EQ(wanted, got) << "trial " << trial << ", held up to " << most_held << ", seed " << samples::seed();
    }
  }
}

}  // namespace tiled_bytes_test
}  // namespace tensorstat
