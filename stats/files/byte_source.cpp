#include "stats/files/byte_source.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "stats/files/random_file.hpp"

namespace tensorstat {
namespace {

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(std::shared_ptr<const RandomFile> file) : file_(std::move(file)) {}
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    return file_->read_at(offset_bytes, out);
  }

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
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + (offset_bytes - offset_bytes_), out.size());
    return {};
  }

 private:
  const std::string path_;
  const std::uint64_t modified_us_, offset_bytes_;
  const std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> bytes_of(std::shared_ptr<const RandomFile> file) {
  return std::make_unique<FileBytes>(std::move(file));
}

Result<std::unique_ptr<ByteSource>> held_bytes(ByteSource& source, std::uint64_t offset_bytes, std::size_t count) {
  std::vector<std::byte> bytes(count);
  if (Status read = source.read_at(offset_bytes, bytes); !read) return read.error();
  return std::unique_ptr<ByteSource>(std::make_unique<HeldBytes>(source, offset_bytes, std::move(bytes)));
}

}  // namespace tensorstat
