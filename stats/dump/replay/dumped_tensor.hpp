// Tensors of a dumped tree, taken into memory as a session takes them.
#pragma once

#include <functional>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/dump/replay/dumped_runs.hpp"

namespace tensorstat {

// Appends the tensors of a file that `wants` says yes to. `unreadable` is told of each that cannot be read, and of the
// file.
void read_tensors(const DumpedFile& file, const std::function<bool(Io)>& wants,
                  const std::function<void(const Error&)>& unreadable, std::vector<DumpTensor>& tensors);

}  // namespace tensorstat
