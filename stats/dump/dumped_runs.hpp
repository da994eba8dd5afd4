// The files of a dumped tree, as the runs of operators that they came from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/dump/mindspore/file_name.hpp"

namespace tensorstat {

struct DumpedFile {
  std::string path;
  NamedTensor named;
  DumpPlace place;
  bool holds_run = false;  // all tensors of a run: `named` tells neither input nor output
};

// The tensors of one run of one operator, in the order of their times.
using DumpedRun = std::vector<DumpedFile>;

// Names are those of the files, or what mapping.csv beside them says. An operator that ran several times in one
// iteration has several runs: one ends where an input or output of it comes again. Runs come in the order of
// their times; msprobe's names tell none, and those of the files count. `unreadable` is told of a mapping.csv that cannot be read; its files keep their numbers as names.
std::vector<DumpedRun> dumped_runs(const std::vector<std::string>& files,
                                   const std::function<void(const Error&)>& unreadable);

}  // namespace tensorstat
