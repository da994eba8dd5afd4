#include "stats/data/files/io/text_pieces.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

}  // namespace

Result<NextPiece> pieces_of(const std::string& path, std::uint64_t from) {
  auto file = RandomFile::open(path);
  if (!file) return file.error();
  const auto source = std::make_shared<const RandomFile>(*std::move(file));
  return NextPiece([source, offset = std::min(from, source->size_bytes())](std::string& piece) mutable -> Result<bool> {
    // Doubles the piece, so that a long row costs time proportional to its length.
    const std::size_t before = piece.size();
    const std::size_t more = std::min<std::uint64_t>(std::max(kPieceBytes, before), source->size_bytes() - offset);
    piece.resize(before + more);
    Status read = source->read_at(offset, std::as_writable_bytes(std::span(piece).subspan(before)));
    if (!read) return read.error();
    offset += more;
    return more != 0;
  });
}

}  // namespace tensorstat
