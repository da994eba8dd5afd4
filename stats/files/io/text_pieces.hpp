// Reads a text in pieces.
#pragma once

#include <functional>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Appends the next bytes of the text to `piece`. false at the end.
using NextPiece = std::function<Result<bool>(std::string& piece)>;

// The pieces of a regular file, up to its size at the time of opening.
Result<NextPiece> pieces_of(const std::string& path);

}  // namespace tensorstat
