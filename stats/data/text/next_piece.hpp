// A text that comes in pieces.
#pragma once

#include <functional>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Appends the next bytes of the text to `piece`; false at its end.
using NextPiece = std::function<Result<bool>(std::string& piece)>;

}  // namespace tensorstat
