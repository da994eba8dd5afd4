#include "stats/job/dump/msprobe/growing_json.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "stats/data/files/npy/npy_writer.hpp"

namespace tensorstat {

GrowingJson::GrowingJson(std::string path, std::string head, std::string tail, std::string empty)
    : path_(std::move(path)), head_(std::move(head)), tail_(std::move(tail)), empty_(std::move(empty)) {}

Status GrowingJson::copy_settled(const std::function<void(std::string_view)>& to) {
  if (settled_bytes_ == 0) return {};
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;
  if (!written_) {
    auto file = RandomFile::open(path_);
    if (!file) return file.error();
    written_ = *std::move(file);
  }
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kPiece, settled_bytes_)));
  for (std::uint64_t offset = 0; offset < settled_bytes_; offset += kPiece) {
    const auto room = std::span(piece).first(static_cast<std::size_t>(std::min(kPiece, settled_bytes_ - offset)));
    if (Status read = written_->read_at(head_.size() + offset, room); !read) return read;
    to({reinterpret_cast<const char*>(room.data()), room.size()});
  }
  return {};
}

Status GrowingJson::write(std::span<const std::string> settled, std::span<const std::string> open, bool synced) {
  const auto fill = [&](const WritePiece& write) -> Status {
    if (settled_bytes_ == 0 && settled.empty() && open.empty()) return write(empty_), Status();
    write(head_);
    if (Status copied = copy_settled(write); !copied) return copied;
    bool is_first = settled_bytes_ == 0;
    for (const auto entries : {settled, open}) {
      for (const std::string& entry : entries) {
        if (!std::exchange(is_first, false)) write(",");
        write(entry);
      }
    }
    write(tail_);
    return {};
  };
  if (Status written = write_whole_file(path_, fill, synced); !written) return written;
  for (const std::string& entry : settled) settled_bytes_ += entry.size() + (settled_bytes_ == 0 ? 0 : 1);
  written_.reset();
  if (auto file = RandomFile::open(path_)) written_ = *std::move(file);
  return {};
}

}  // namespace tensorstat
