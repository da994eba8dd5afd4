#include "stats/data/files/io/sharded_bytes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

class ShardedBytes : public ByteSource {
 public:
  ShardedBytes(std::shared_ptr<const RandomFile> named, std::string label, Shape shape, std::uint32_t element_bytes,
               std::vector<ShardBytes> shards)
      : named_(std::move(named)),
        label_(std::move(label)),
        shape_(std::move(shape)),
        element_bytes_(element_bytes),
        shards_(std::move(shards)) {}
  const std::string& path() const override { return named_->path(); }
  std::uint64_t modified_us() const override { return named_->modified_us(); }
  bool seeks() const override { return true; }
  bool is_shareable() const override { return true; }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    std::size_t shard = 0;
    while (!out.empty()) {
      Shape coordinates = shape_;
      std::uint64_t left = offset_bytes / element_bytes_;
      for (std::size_t d = shape_.size(); d-- > 0; left /= shape_[d]) coordinates[d] = left % shape_[d];
      const auto owner = with(coordinates, shard);
      if (!owner)
        return Error{Code::kUnreadable,
                     printable_name(label_) + ": no shard has the element " + to_string(coordinates)};
      shard = *owner;
      const ShardBytes& part = shards_[shard];
      // The following bytes of the shard also follow in the tensor, as long as the axes behind are complete.
      std::uint64_t index = 0, block = 1;
      bool is_whole = true;
      for (std::size_t d = 0; d < coordinates.size(); ++d)
        index = index * part.sizes[d] + (coordinates[d] - part.offsets[d]);
      for (std::size_t d = coordinates.size(); is_whole && d-- > 0; is_whole = part.sizes[d] == shape_[d])
        block *= part.sizes[d];
      const std::uint64_t run = block - index % block;
      const std::uint64_t skipped = offset_bytes % element_bytes_;
      const std::size_t count = std::min<std::uint64_t>(out.size(), run * element_bytes_ - skipped);
      const std::uint64_t from = part.at_bytes + index * element_bytes_ + skipped;
      if (Status read = part.file->read_at(from, out.first(count)); !read) return read;
      out = out.subspan(count);
      offset_bytes += count;
    }
    return {};
  }

 private:
  // The shard with this element. `first` is looked at first, and then the one behind it.
  std::optional<std::size_t> with(const Shape& coordinates, std::size_t first) const {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const std::size_t shard = (first + i) % shards_.size();
      const auto& [offsets, sizes, file, begin] = shards_[shard];
      bool is_in = true;
      for (std::size_t d = 0; is_in && d < coordinates.size(); ++d)
        is_in = coordinates[d] >= offsets[d] && coordinates[d] - offsets[d] < sizes[d];
      if (is_in) return shard;
    }
    return std::nullopt;
  }

  const std::shared_ptr<const RandomFile> named_;
  const std::string label_;
  const Shape shape_;
  const std::uint32_t element_bytes_;
  const std::vector<ShardBytes> shards_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> sharded_bytes(std::shared_ptr<const RandomFile> named, std::string label,
                                                  const Shape& shape, std::uint32_t element_bytes,
                                                  std::vector<ShardBytes> shards) {
  const auto fault = [](const std::string& what) { return Error{Code::kUnreadable, what}; };
  if (shards.size() > kMostShards) return fault("is in more than " + std::to_string(kMostShards) + " shards");
  const auto count = element_count(shape, element_bytes);
  if (!count) return count.error();
  std::uint64_t there = 0;
  for (const ShardBytes& shard : shards) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shard.offsets[d] > shape[d] || shard.sizes[d] > shape[d] - shard.offsets[d]) {
        return fault("has a shard at " + to_string(shard.offsets) + " of shape " + to_string(shard.sizes) +
                     ", outside of its shape " + to_string(shape));
      }
    }
    there += *element_count(shard.sizes);  // none has more than the tensor
    if (there > *count) break;
  }
  if (there != *count) {
    return fault("has shards of " + std::to_string(there) + " elements, and its shape " + to_string(shape) + " has " +
                 std::to_string(*count));
  }
  return std::unique_ptr<ByteSource>(
      std::make_unique<ShardedBytes>(std::move(named), std::move(label), shape, element_bytes, std::move(shards)));
}

}  // namespace tensorstat
