// Reads a text in pieces.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/data/text/next_piece.hpp"

namespace tensorstat {

// The pieces of a regular file from a byte on, up to its size at the time of opening.
Result<NextPiece> pieces_of(const std::string& path, std::uint64_t from = 0);

}  // namespace tensorstat
