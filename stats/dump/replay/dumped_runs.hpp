// The files of a dumped tree, as the runs of operators that they came from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/rows/names/mindspore_file_name.hpp"
#include "stats/dump/msprobe/dumped_calls.hpp"

namespace tensorstat {

struct DumpedFile {
  std::string path;
  NamedTensor named;
  DumpPlace place;
  bool holds_run = false;  // all tensors of a run: `named` tells neither input nor output
  std::shared_ptr<const DumpedCall> call = {};  // where msprobe's dump.json says it
  bool requires_grad = false;                   // the same
};

// The tensors of one run of one operator, in the order of their times.
using DumpedRun = std::vector<DumpedFile>;

// Names are those of the files, or what mapping.csv beside them says. An operator that ran several times in one
// iteration has several runs: one ends where an input or output of it comes again. Runs come in the order of
// their times; msprobe's names tell none, and those of the files count, unless a dump.json beside them has the calls in
// order. That also says which of a call's tensors a file is. `unreadable` is told of a mapping.csv or dump.json that
// cannot be read; the files keep their names.
std::vector<DumpedRun> dumped_runs(const std::vector<std::string>& files,
                                   const std::function<void(const Error&)>& unreadable);

}  // namespace tensorstat
