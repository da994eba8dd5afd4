// A tree of dumped tensors through a config: what a dump with that config would have left.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/dump/replay/replay_output.hpp"

namespace tensorstat {

struct ReplayListener {
  std::function<void(const Error&)> unreadable;  // a file that could not be read
  std::function<void(std::size_t done, std::size_t total)> progressed;  // files
};

// Reads the .npy files, whose names, or mapping.csv beside them, tell operator, input or output, slot and time, and
// hands them to a session of the config `text`, all tensors of one run of an operator together, in the order of their
// times. Iterations are those of the folders: initial_iteration is in them already. `existing` says what is done where
// files are already that it would write.
// Errors: the config is wrong; kUnwritable, where `existing` refuses or the replay could not be completed, which leaves
// what was there as it was, but for files that kReplace had replaced whole by then.
Result<DumpCounters> replay(std::string_view config_text, const std::vector<std::string>& files, DumpOptions options,
                            Existing existing, const ReplayListener& listener);

}  // namespace tensorstat
