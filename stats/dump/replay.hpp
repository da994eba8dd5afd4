// A tree of dumped tensors through a config: what a dump with that config would have left.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <vector>

namespace tensorstat {

struct ReplayListener {
  std::function<void(const Error&)> unreadable;  // a file that could not be read
  std::function<void(std::size_t done, std::size_t total)> progressed;  // files
};

// Where in the training a dumped file was, by its folders:
//   .../rank_{rank}/{net_name}/{graph}/{iteration or constants}/x.npy
//   .../{step}/{time}/{device}/{model_name}/{model_id}/{iteration}/x.npy
// A rank's device is rank modulo 8. nullopt: these are no folders of a dump.
std::optional<DumpPlace> place_in_dump(const std::string& path);

// The same, where anything else is iteration 0 of graph 0 of rank 0.
DumpPlace place_of_file(const std::string& path);

// Reads the .npy files, whose names, or mapping.csv beside them, tell operator, input or output,
// slot and time, and hands them to a session of the config `text`, all tensors of an operator's run
// together, in the order of their times. Iterations are those of the folders: initial_iteration is
// in them already. Statistics are appended to what is there. An error: the config is wrong.
Result<DumpCounters> replay(std::string_view config_text, const std::vector<std::string>& files,
                            DumpOptions options, const ReplayListener& listener);

}  // namespace tensorstat
