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

// Writes a new SQLite file at `file`, which should end in .trend.db: msprobe looks for that. Its tables are those of
// msprobe's data2db: a row is a rank, a step (the iteration), a target (a tensor) and a metric (forward, backward,
// parameters_grad; and parameters, optimizer and loss, which msprobe's own dumps lack), with norm, max, min, mean and
// the count of NaN. A name that ends in a number, as msprobe's calls do, has it as micro step, and so has a call that
// comes again.
//
// The database loses what msprobe's loses: NaN is NULL, Inf is 1e9 + 1, -Inf is -1e9 - 1, and all else is clipped to
// -1e9 ... 1e9. The counts of these are returned.
//
// An error: nothing could be read, or the file cannot be written.
Result<TrendWritten> write_trend_db(RunRows& rows, const std::string& path, const std::string& file);

}  // namespace tensorstat
