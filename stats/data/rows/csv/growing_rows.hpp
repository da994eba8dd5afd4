// How far a file of rows has been read that somebody is still writing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/rows.hpp>

namespace tensorstat {

struct GrowingRows {
  std::uint64_t offset = 0;             // behind the last row that was read; 0: not even the heading
  std::string heading = {};             // with its line end
  std::optional<Dialect> dialect = {};  // that the first row showed
};

}  // namespace tensorstat
