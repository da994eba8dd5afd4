// A run as msprobe's trend database, which its TREND ANALYZER shows.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/compare/recorded.hpp"

namespace tensorstat {

struct TrendWritten {
  std::uint64_t rows = 0;
  std::uint64_t nan = 0, inf = 0, clipped = 0;  // values that the database cannot hold: see below
  std::uint64_t without = 0;                    // rows without any of its statistics, which are left out
};

// Writes a new SQLite file at `file`, which should end in .trend.db: msprobe searches for that. It has the tables of
// msprobe's data2db. A row is a rank, a step (the iteration), a target (a tensor) and a metric, with norm, max, min,
// mean and the count of NaN. Metrics are forward, backward and parameters_grad, and beyond msprobe's own dumps
// parameters, optimizer and loss. The micro step is the number at the end of a name, as in msprobe's calls, and each
// repeated call adds 1.
//
// The database loses the same values as msprobe's: NaN is NULL, Inf is 1e9 + 1, -Inf is -1e9 - 1, and all others are
// clipped to -1e9 ... 1e9. The counts of these are returned.
//
// An error: no row could be read, or the file cannot be written.
Result<TrendWritten> write_trend_db(RunRows& rows, const std::string& path, const std::string& file);

}  // namespace tensorstat
