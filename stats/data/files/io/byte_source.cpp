#include "stats/data/files/io/byte_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "stats/data/files/io/block_bytes.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {
namespace {

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(std::shared_ptr<const RandomFile> file) : file_(std::move(file)) {}
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }
  bool is_shareable() const override { return true; }
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    return file_->read_at(offset_bytes, out);
  }
  const RandomFile* file() const override { return file_.get(); }

 private:
  const std::shared_ptr<const RandomFile> file_;
};

class HeldBytes : public ByteSource {
 public:
  HeldBytes(const ByteSource& source, std::uint64_t offset_bytes, std::vector<std::byte> bytes)
      : path_(source.path()),
        modified_us_(source.modified_us()),
        offset_bytes_(offset_bytes),
        bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t modified_us() const override { return modified_us_; }
  bool seeks() const override { return true; }
  bool is_shareable() const override { return true; }
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + (offset_bytes - offset_bytes_), out.size());
    return {};
  }

 private:
  const std::string path_;
  const std::uint64_t modified_us_, offset_bytes_;
  const std::vector<std::byte> bytes_;
};

// How stored bytes, of one or several values each, become elements.
struct Unpacking {
  Original original;
  unsigned values_a_byte;
  void (*unpack)(std::span<const std::byte> packed, std::uint64_t first, std::uint64_t count, std::string& out);
};

template <Widening kWidening>
void widened(std::span<const std::byte> packed, std::uint64_t first, std::uint64_t count, std::string& out) {
  widen(kWidening, packed, first, count, out);
}

// float4 to float8_e4m3fn: the exponent's bias grows by 6, and the mantissa bit is followed by two zeros.
char e4m3_of(unsigned float4) {
  const unsigned size = float4 & 7;
  return static_cast<char>((float4 & 8) << 4 | (size == 0 ? 0 : size == 1 ? 0x30 : (size << 2) + 0x30));
}

constexpr Unpacking kUnpackings[] = {
    {Original::kInt4, 2, widened<Widening::kInt4>},
    {Original::kUint4, 2,
     [](std::span<const std::byte> packed, std::uint64_t first, std::uint64_t count, std::string& out) {
       for (std::uint64_t i = first; i < first + count; ++i) {
         out += static_cast<char>(std::to_integer<unsigned>(packed[i / 2]) >> (i % 2 * 4) & 0xf);
       }
     }},
    {Original::kUint1, 8, widened<Widening::kUint1>},
    {Original::kFloat4, 2,
     [](std::span<const std::byte> packed, std::uint64_t first, std::uint64_t count, std::string& out) {
       for (std::uint64_t i = first; i < first + count; ++i) {
         out += e4m3_of(std::to_integer<unsigned>(packed[i / 2]) >> (i % 2 * 4) & 0xf);
       }
     }},
};

class UnpackedBytes : public ByteSource {
 public:
  UnpackedBytes(std::unique_ptr<ByteSource> packed, const StoredTensor& tensor)
      : packed_(std::move(packed)),
        offset_bytes_(tensor.packed_at_bytes),
        element_bytes_(size_bytes(tensor.dtype)),
        unpacking_(*std::ranges::find(kUnpackings, tensor.original, &Unpacking::original)) {}
  const std::string& path() const override { return packed_->path(); }
  std::uint64_t modified_us() const override { return packed_->modified_us(); }
  bool seeks() const override { return packed_->seeks(); }
  bool is_separate() const override { return packed_->is_separate(); }
  // Reads whole elements only.
  Status read_at(std::uint64_t first_byte, std::span<std::byte> out) override {
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    const unsigned a_byte = unpacking_.values_a_byte;
    for (std::uint64_t first = first_byte / element_bytes_; !out.empty();) {
      const std::uint64_t skipped = first % 8, count = std::min(out.size() / element_bytes_, kPiece);
      bytes_.resize((skipped + count + a_byte - 1) / a_byte);
      Status read = packed_->read_at(offset_bytes_ + (first - skipped) / a_byte, bytes_);
      if (!read) return read;
      values_.clear();
      unpacking_.unpack(bytes_, skipped, count, values_);
      std::memcpy(out.data(), values_.data(), values_.size());
      out = out.subspan(values_.size());
      first += count;
    }
    return {};
  }

 private:
  const std::unique_ptr<ByteSource> packed_;
  const std::uint64_t offset_bytes_;
  const std::size_t element_bytes_;
  const Unpacking& unpacking_;
  std::vector<std::byte> bytes_;
  std::string values_;
};

// One field of each record, without the gaps between them.
class FieldBytes : public ByteSource {
 public:
  FieldBytes(std::unique_ptr<ByteSource> bytes, const Records& records) : bytes_(std::move(bytes)), records_(records) {}
  const std::string& path() const override { return bytes_->path(); }
  std::uint64_t modified_us() const override { return bytes_->modified_us(); }
  bool seeks() const override { return bytes_->seeks(); }
  bool is_separate() const override { return bytes_->is_separate(); }
  Status read_at(std::uint64_t first, std::span<std::byte> out) override {
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
    const auto [at_bytes, record_bytes, field_bytes] = records_;
    while (!out.empty()) {
      const std::uint64_t skipped = first % field_bytes,
                          offset = at_bytes + first / field_bytes * record_bytes + skipped;
      const std::uint64_t wanted = (skipped + out.size() + field_bytes - 1) / field_bytes;
      const std::uint64_t count = std::min(kPiece / record_bytes, wanted);
      std::size_t got = std::min<std::uint64_t>(field_bytes - skipped, out.size());
      if (count <= 1) {
        if (Status read = bytes_->read_at(offset, out.first(got)); !read) return read;
      } else {
        piece_.resize((count - 1) * record_bytes + field_bytes - skipped);
        if (Status read = bytes_->read_at(offset, piece_); !read) return read;
        std::memcpy(out.data(), piece_.data(), got);
        for (std::uint64_t record = 1; record < count; ++record) {
          const std::size_t taken = std::min<std::uint64_t>(field_bytes, out.size() - got);
          std::memcpy(out.data() + got, piece_.data() + record * record_bytes - skipped, taken);
          got += taken;
        }
      }
      out = out.subspan(got);
      first += got;
    }
    return {};
  }

 private:
  const std::unique_ptr<ByteSource> bytes_;
  const Records records_;
  std::vector<std::byte> piece_;
};

}  // namespace

std::unique_ptr<ByteSource> elements_of(std::unique_ptr<ByteSource> bytes, const StoredTensor& tensor) {
  if (tensor.tiles) return tiled_bytes(std::move(bytes), *tensor.tiles);
  if (tensor.records) return std::make_unique<FieldBytes>(std::move(bytes), *tensor.records);
  if (!tensor.is_packed) return bytes;
  if (tensor.blocks != nullptr) return decoded_blocks(std::move(bytes), *tensor.blocks, tensor.packed_at_bytes);
  return std::make_unique<UnpackedBytes>(std::move(bytes), tensor);
}

std::unique_ptr<ByteSource> bytes_of(std::shared_ptr<const RandomFile> file) {
  return std::make_unique<FileBytes>(std::move(file));
}

Result<std::unique_ptr<ByteSource>> held_bytes(ByteSource& source, std::uint64_t offset_bytes, std::size_t count) {
  std::vector<std::byte> bytes(count);
  if (Status read = source.read_at(offset_bytes, bytes); !read) return read.error();
  return std::unique_ptr<ByteSource>(std::make_unique<HeldBytes>(source, offset_bytes, std::move(bytes)));
}

}  // namespace tensorstat
