// A text read piece by piece.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

#include "stats/base/next_piece.hpp"

namespace tensorstat {

// Those of a regular file, as long as it was when it was opened.
Result<NextPiece> pieces_of(const std::string& path);

}  // namespace tensorstat
