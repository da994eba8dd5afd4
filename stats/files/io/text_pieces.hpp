// Reads a text in pieces.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

#include "stats/base/next_piece.hpp"

namespace tensorstat {

// The pieces of a regular file, up to its size at the time of opening.
Result<NextPiece> pieces_of(const std::string& path);

}  // namespace tensorstat
