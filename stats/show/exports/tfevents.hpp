// A run as TensorBoard's event files.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/compare/recorded.hpp"

namespace tensorstat {

struct EventsWritten {
  std::uint64_t rows = 0, files = 0;
  std::uint64_t scalars = 0, histograms = 0;
  std::uint64_t beyond_float32 = 0;  // finite numbers that a float32 holds as Inf or 0
};

// Writes FOLDER/rank_{rank}/events.out.tfevents.0.tensorstat for each rank: so each rank is a run of TensorBoard. The
// folder exists. An event has the row's iteration as its step, and the row's time.
//
// A number is a scalar with the tag {statistic}/{op_name}/{io}.{slot}, in which blanks are _; so TensorBoard has a
// group for each statistic. Parameters, gradients and optimizer states, which share a name, have their type before it.
// A tag has one value in a step: the second call of a name in an iteration ends in #2. The first graph with this name
// has no ending, and others have their number. Executions likewise. A byte that is not UTF-8 is U+FFFD. NaN and Inf
// are written as such. TensorBoard's scalars are float32. Exponents are a histogram of floor(log2 |x|): a bucket from k
// to k + 1 has the elements of that binade. Zero, subnormal, NaN and Inf elements are in none. Digests and missing
// values are left out.
//
// An error: nothing could be read, or a file cannot be written.
Result<EventsWritten> write_events(RunRows& rows, const std::string& path, const std::string& folder);

// Parts of the format, which tests ask for. CRC-32C of Castagnoli, as iSCSI has it (RFC 3720).
std::uint32_t crc32c_of(std::string_view bytes);

}  // namespace tensorstat
