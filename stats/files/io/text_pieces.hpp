// A text read piece by piece.
#pragma once

#include <functional>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Appends the next bytes of the text to `piece`; false at its end.
using NextPiece = std::function<Result<bool>(std::string& piece)>;

// Those of a regular file, as long as it was when it was opened.
Result<NextPiece> pieces_of(const std::string& path);

}  // namespace tensorstat
