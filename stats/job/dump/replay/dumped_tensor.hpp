// Reads the tensors of a dumped tree into memory, in the form that a session takes.
#pragma once

#include <functional>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/job/dump/replay/dumped_runs.hpp"

namespace tensorstat {

// Appends the tensors of a file for which `wants` returns true. `unreadable` is called for each tensor that cannot be
// read, and for the file. A tensor in a device's format becomes the host's if the file says how, unless
// `keeps_device_format`.
void read_tensors(const DumpedFile& file, bool keeps_device_format, const std::function<bool(Io)>& wants,
                  const std::function<void(const Error&)>& unreadable, std::vector<DumpTensor>& tensors);

}  // namespace tensorstat
