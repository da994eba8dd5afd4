// What a comparison is given, read: rows of statistics, or tensors, which are measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>

#include "stats/compare/origin/hints.hpp"
#include "stats/compare/record.hpp"

namespace tensorstat {

// Who is told what happens meanwhile; two records may be read by two threads at once.
struct ReadListener {
  std::function<void(std::string_view words)> failed;  // something could not be read
  std::function<void(std::size_t done, std::size_t total, std::uint64_t bytes)> progressed;  // of tensors
};

struct Recorded {
  Record record;         // sorted
  Hints hints;           // what lies beside the rows, or the tensors
  bool is_whole = true;  // else some of it could not be read, which the listener has been told
};

// `path` is a file of rows (statistic.csv in any dialect), a file of tensors, or a folder. Of a folder, all files of
// rows below it; where there are none, all files of tensors. Rank and iteration are those that a row says, else those
// of the folders of a dump. A tensor is known by its operator where its file has the name of a dump, else by its path
// below the folder and its name in the file. Where a dump says the order in which a graph is executed, its operators
// are in that. An error: nothing could be read.
struct Reading {
  enum class Names : std::uint8_t {
    kWithFiles,
    kOfTensors
  };  // kOfTensors: a tensor goes by its name in the file alone
  Names names = Names::kWithFiles;
  // One dump.json says its own rank and iteration. Else it is of rank 0 and iteration 0: it may be held against
  // another's.
  bool is_alone = false;
};
Result<Recorded> read_recorded(const std::string& path, const MeterOptions& meter, const ReadListener& listener,
                               const Reading& reading = {});

// Whether the tensors below `path` are those of one file, or of one model in shards, with an index or without. Then the
// names of files tell nothing of a tensor.
bool is_one_container(const std::string& path);

}  // namespace tensorstat
