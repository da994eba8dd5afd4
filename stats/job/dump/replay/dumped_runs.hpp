// Groups the files of a dumped tree by the operator's run that they came from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/data/rows/dump_json/dumped_calls.hpp"
#include "stats/data/rows/names/mindspore_file_name.hpp"

namespace tensorstat {

struct DumpedFile {
  std::string path;
  NamedTensor named;
  DumpPlace place;
  bool holds_run = false;  // the file has all tensors of a run: `named` gives neither input nor output
  std::shared_ptr<const DumpedCall> call = {};  // from msprobe's dump.json, if it lists the file
  bool requires_grad = false;                   // the same
};

// The tensors of one run of one operator, in the order of their times.
using DumpedRun = std::vector<DumpedFile>;

// Names come from the files' names, or from mapping.csv beside them. If an operator ran several times in one iteration,
// a new run begins when an input or output repeats. Runs are in the order of their times. msprobe's names have no time:
// then runs are in the order of the calls in dump.json, or else of the files' modification times. dump.json also gives
// the tensor's position in the call. `unreadable` is called for a mapping.csv or dump.json that cannot be read; the
// files then keep their names.
std::vector<DumpedRun> dumped_runs(const std::vector<std::string>& files,
                                   const std::function<void(const Error&)>& unreadable);

}  // namespace tensorstat
