// Replays a tree of dumped tensors with another config: writes what a dump with that config would have written.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/job/dump/replay/replay_output.hpp"

namespace tensorstat {

struct ReplayListener {
  std::function<void(const Error&)> unreadable;                         // called for each file that cannot be read
  std::function<void(std::size_t done, std::size_t total)> progressed;  // counts files
};

// Reads the .npy files. Their names, or mapping.csv beside them, give operator, input or output, slot and time. Passes
// them to a session with the config `config_text`, all tensors of a run together, in the order of their times.
// The folders' names give the iterations, and already include initial_iteration. `existing` decides what happens to
// files that are already in the output's folders. Errors: a wrong config; kUnwritable if `existing` refuses or the
// replay could not be completed. Existing files are then unchanged, except those that kReplace had already replaced.
Result<DumpCounters> replay(std::string_view config_text, const std::vector<std::string>& files, DumpOptions options,
                            Existing existing, const ReplayListener& listener);

}  // namespace tensorstat
