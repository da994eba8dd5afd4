// One array of a Zarr store, in a folder of its own: its metadata (.zarray or zarr.json) name the chunks beside it.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/files/zarr/zarr_metadata.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kZarrVersion2 = ".zarray", kZarrVersion3 = "zarr.json", kGroupVersion2 = ".zgroup";
constexpr std::size_t kMostZarrMetadataBytes = std::size_t{16} << 20;
// In C order, all chunks that lie beside each other behind the first axis are needed at once.
constexpr std::uint64_t kMostHeldChunkBytes = std::uint64_t{1} << 29;
constexpr int kMostChunkFolders = 70;  // more than axes

std::string_view name_of_path(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string folder_of_path(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }  // npos + 1 is 0

// The name of the array, which is its folder's name; nullopt if the path does not have it.
std::optional<std::string> name_of_array(const std::string& path) {
  std::string folder = folder_of_path(path);
  if (folder.size() < 2) return std::nullopt;
  folder.pop_back();
  return std::string(name_of_path(folder));
}

std::uint32_t crc32c_of(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
  }
  return ~crc;
}

// Takes the checksum from the end of `bytes`. False if it does not match.
bool take_crc32c(std::vector<std::byte>& bytes) {
  std::uint32_t stored = 0;
  if (bytes.size() < sizeof stored) return false;
  const std::size_t end = bytes.size() - sizeof stored;
  for (std::size_t i = 0; i < sizeof stored; ++i) stored |= std::to_integer<std::uint32_t>(bytes[end + i]) << (8 * i);
  bytes.resize(end);
  return crc32c_of(bytes) == stored;
}

// The elements of all chunks in C order.
class ZarrBytes : public ByteSource {
 public:
  ZarrBytes(std::shared_ptr<const RandomFile> file, ZarrArray array)
      : file_(std::move(file)),
        folder_(folder_of_path(file_->path())),
        array_(std::move(array)),
        element_bytes_(array_.fill.size()),
        stride_(array_.shape.size()) {
    std::uint64_t stride = 1;
    for (std::size_t i = array_.order.size(); i-- > 0; stride *= array_.chunk[array_.order[i]]) {
      stride_[array_.order[i]] = stride;
    }
    chunk_bytes_ = stride * element_bytes_;
  }
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }
  void release() override {
    held_.clear();
    held_bytes_ = 0;
    last_index_.reset();
    last_.reset();
  }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override try {
    const Shape& shape = array_.shape;
    Shape coordinates(shape.size()), chunk(shape.size());
    for (std::uint64_t element = offset_bytes / element_bytes_; !out.empty();) {
      std::uint64_t left = element, from = 0;
      for (std::size_t d = shape.size(); d-- > 0; left /= shape[d]) {
        coordinates[d] = left % shape[d];
        chunk[d] = coordinates[d] / array_.chunk[d];
        from += coordinates[d] % array_.chunk[d] * stride_[d];
      }
      // To the end of the chunk's row.
      const std::uint64_t row = shape.empty()
                                    ? 1
                                    : std::min(shape.back() - coordinates.back(),
                                               array_.chunk.back() - coordinates.back() % array_.chunk.back());
      const std::uint64_t count = std::min<std::uint64_t>(row, out.size() / element_bytes_);
      if (count == 0) return Error{Code::kInvalid, "a part of an element was asked for"};
      auto bytes = bytes_of_chunk(chunk);
      if (!bytes) return bytes.error();
      copy(**bytes, from, shape.empty() ? 1 : stride_.back(), out.first(count * element_bytes_));
      out = out.subspan(count * element_bytes_);
      element += count;
    }
    return {};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

  // The bytes to keep for reading in C order.
  std::uint64_t held_bytes() const {
    std::uint64_t bytes = chunk_bytes_;
    std::size_t first = 0;  // chunks of one index along the axes before this one are needed once
    while (first < array_.chunk.size() && array_.chunk[first] == 1) ++first;
    for (std::size_t d = first + 1; d < array_.chunk.size(); ++d) {
      const std::uint64_t across = array_.shape[d] / array_.chunk[d] + (array_.shape[d] % array_.chunk[d] != 0);
      if (__builtin_mul_overflow(bytes, across, &bytes)) return UINT64_MAX;
    }
    return bytes;
  }

  // The bytes to unpack for reading all of it.
  std::uint64_t unpacked_bytes() const {
    std::uint64_t bytes = chunk_bytes_;
    for (std::size_t d = 0; d < array_.chunk.size(); ++d) {
      const std::uint64_t across = array_.shape[d] / array_.chunk[d] + (array_.shape[d] % array_.chunk[d] != 0);
      if (__builtin_mul_overflow(bytes, across, &bytes)) return UINT64_MAX;
    }
    return bytes;
  }

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;  // null: the fill value

  void copy(const Bytes& chunk, std::uint64_t from, std::uint64_t stride, std::span<std::byte> out) const {
    if (chunk && stride == 1) {
      std::memcpy(out.data(), chunk->data() + from * element_bytes_, out.size());
      return;
    }
    for (std::size_t offset = 0; offset < out.size(); offset += element_bytes_, from += stride) {
      const std::byte* const element = chunk ? chunk->data() + from * element_bytes_ : array_.fill.data();
      std::memcpy(out.data() + offset, element, element_bytes_);
    }
  }

  Result<const Bytes*> bytes_of_chunk(const Shape& index) {
    if (index == last_index_) return &last_;
    std::string key = array_.key(index);
    auto entry = held_.find(key);
    if (entry == held_.end()) {
      // Reading has moved on along the first axes: earlier chunks are not needed again.
      if (held_bytes_ + chunk_bytes_ > std::max(held_bytes(), chunk_bytes_)) {
        held_.clear();
        held_bytes_ = 0;
      }
      auto read = read_chunk(index);
      if (!read)
        return error_of_tensor(file_->path(), name_of_array(file_->path()),
                               {read.error().code, "its chunk " + key + ": " + read.error().message});
      entry = held_.emplace(key, *std::move(read)).first;
      held_bytes_ += chunk_bytes_;
    }
    last_index_ = index;
    last_ = entry->second;
    return &last_;
  }

  static Error wrong(const std::string& what) { return {Code::kUnreadable, what}; }

  // The file with only this chunk's bytes, or the part of a shard; nullopt: the chunk is missing.
  Result<std::optional<RandomFile>> file_of_chunk(Shape index) const {
    using File = std::optional<RandomFile>;
    std::uint64_t in_shard = 0, of_shard = 1;
    for (std::size_t d = 0; array_.shard && d < index.size(); ++d) {
      const std::uint64_t across = (*array_.shard)[d] / array_.chunk[d];
      in_shard = in_shard * across + index[d] % across;
      of_shard *= across;  // no more than elements
      index[d] /= across;
    }
    const std::string path = folder_ + array_.key(index);
    auto file = RandomFile::open(path);
    if (!file) return is_missing(path) ? Result<File>(File()) : Result<File>(file.error());
    if (!array_.shard) return File(*std::move(file));
    // The index has the offset and the size of each chunk, and a checksum that is not looked at.
    constexpr std::uint64_t kEntryBytes = 16, kNone = UINT64_MAX;
    const std::uint64_t index_bytes = of_shard * kEntryBytes + (array_.has_index_crc32c ? sizeof(std::uint32_t) : 0);
    if (of_shard > file->size_bytes() / kEntryBytes || index_bytes > file->size_bytes()) {
      return wrong("its shard has " + std::to_string(file->size_bytes()) + " bytes, and no room for its index");
    }
    std::array<std::byte, kEntryBytes> entry;
    const std::uint64_t index_at = array_.has_index_at_start ? 0 : file->size_bytes() - index_bytes;
    if (Status read = file->read_at(index_at + in_shard * kEntryBytes, entry); !read) return read.error();
    const auto number = [&](std::size_t begin) {
      std::uint64_t value = 0;
      for (std::size_t i = 8; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(entry[begin + i]);
      return value;
    };
    const std::uint64_t offset = number(0), bytes = number(8);
    if (offset == kNone && bytes == kNone) return File();
    if (offset > file->size_bytes() || bytes > file->size_bytes() - offset) {
      return wrong("it begins at the byte " + std::to_string(offset) + " of its shard, which has " +
                   std::to_string(file->size_bytes()));
    }
    return File(file->part(offset, bytes));
  }

  Result<Bytes> read_chunk(const Shape& index) const {
    auto opened = file_of_chunk(index);
    if (!opened) return opened.error();
    const std::optional<RandomFile>& file = *opened;
    if (!file) return Bytes();
    const std::uint64_t due = chunk_bytes_ + (array_.has_inner_crc32c ? sizeof(std::uint32_t) : 0);
    if (!array_.packing && file->size_bytes() != due + (array_.has_outer_crc32c ? sizeof(std::uint32_t) : 0)) {
      return wrong("has " + std::to_string(file->size_bytes()) + " bytes, and " + std::to_string(due) + " are due");
    }
    // No packer expands its input so much.
    if (file->size_bytes() / 2 > due + (1u << 20)) return wrong("has more bytes than its elements");
    std::vector<std::byte> bytes(file->size_bytes());
    if (Status read = file->read_at(0, bytes); !read) return read.error();
    if (array_.has_outer_crc32c && !take_crc32c(bytes)) return wrong("is damaged: it does not match its checksum");
    if (array_.packing) {
      auto made = unpacked(*array_.packing, bytes, due);
      if (!made) return made.error();
      bytes = *std::move(made);
    }
    if (array_.has_inner_crc32c && !take_crc32c(bytes)) return wrong("is damaged: it does not match its checksum");
    return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }

  static bool is_missing(const std::string& path) {
    std::error_code error;
    return !std::filesystem::exists(std::filesystem::symlink_status(path, error));
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::string folder_;
  const ZarrArray array_;
  const std::size_t element_bytes_;
  Shape stride_;  // in a chunk, in elements
  std::uint64_t chunk_bytes_ = 0;
  std::unordered_map<std::string, Bytes> held_;  // by key
  std::uint64_t held_bytes_ = 0;
  std::optional<Shape> last_index_;
  Bytes last_;
};

// The bytes of all files below a folder.
std::uint64_t bytes_below(const std::string& folder, int depth = 0) {
  std::uint64_t bytes = 0;
  std::vector<Error> ignored;
  for (const FolderEntry& entry : entries_of(folder, ignored)) {
    std::error_code error;
    if (entry.is_folder) {
      bytes += depth < kMostChunkFolders ? bytes_below(entry.path, depth + 1) : 0;
    } else if (const auto size = std::filesystem::file_size(entry.path, error); !error) {
      bytes += size;
    }
  }
  return bytes;
}

// nullopt: a group.
Result<std::optional<ZarrArray>> read_zarr(const std::string& path) {
  if (name_of_path(path) == kGroupVersion2) return std::optional<ZarrArray>();
  const auto text = read_whole_file(path, kMostZarrMetadataBytes);
  if (!text) return text.error();
  auto array = parse_zarr(*text, name_of_path(path) == kZarrVersion3);
  if (!array) return Error{array.error().code, printable(path) + ": " + array.error().message};
  return array;
}

// Its name tells it from other JSON.
bool begins_as_zarr(std::string_view) { return false; }
bool is_named_as_zarr(std::string_view name) {
  return name == kZarrVersion2 || name == kZarrVersion3 || name == kGroupVersion2;
}

OpenedSource open_zarr(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto array = read_zarr(file->path());
  if (!array) return array.error();
  if (!*array) return holds_no_tensor(file->path());
  StoredTensor tensor{.name = name_of_array(file->path()),
                      .dtype = (*array)->dtype,
                      .swapped = (*array)->swapped,
                      .shape = (*array)->shape,
                      .element_count = *element_count((*array)->shape)};
  auto bytes = std::make_unique<ZarrBytes>(file, **std::move(array));
  std::vector<Result<SourcedTensor>> tensors;
  if (bytes->held_bytes() > kMostHeldChunkBytes) {
    return Error{Code::kUnsupported, printable(file->path()) + ": " + std::to_string(bytes->held_bytes()) +
                                         " bytes of its chunks lie beside each other; at most 536870912 are read"};
  }
  const std::uint64_t all = bytes->unpacked_bytes();
  const std::uint64_t beside = bytes_below(folder_of_path(file->path()));
  tensors.push_back(SourcedTensor{std::move(tensor), std::move(bytes), all});
  return source_of(std::move(file), std::move(tensors), options, beside);
}

// An array has its folder for itself. A group has nothing to read, itself included.
std::vector<std::string> parts_of_zarr(const std::string& path) {
  std::vector<std::string> paths;
  const auto array = read_zarr(path);
  if (array && !*array) {
    const std::string folder = folder_of_path(path);
    return {path, folder + ".zattrs", folder + ".zmetadata"};
  }
  std::vector<Error> ignored;
  for (const FolderEntry& entry : entries_of(folder_of_path(path), ignored)) {
    if (entry.path != path) paths.push_back(entry.path);
  }
  return paths;
}

}  // namespace

extern const TensorFormat zarr_format;
const TensorFormat zarr_format = {.extension = "",
                                  .begins = begins_as_zarr,
                                  .open = open_zarr,
                                  .label = ".zarray and zarr.json of Zarr",
                                  .is_named = is_named_as_zarr,
                                  .parts = parts_of_zarr};

}  // namespace tensorstat
