// Reads the inputs of a comparison: rows of statistics, or tensors, which are measured.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tuple>
#include <vector>

#include "stats/answer/compare/execution_order.hpp"
#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/hints.hpp"

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

// A run of so many rows is kept in memory: some 350 bytes each. Of a longer one, as much is in memory at a time.
inline constexpr std::size_t kMostRowsKept = 200'000;

// Reads the rows of a run, as often as needed. At most one row is in memory.
//
// `path` is a file of rows (statistic.csv in any dialect), a file of tensors, or a folder. A folder gives all files of
// rows below it; if it has none, all files of tensors are measured. Rank and iteration come from the row, else from the
// folders of a dump. A tensor's file with a name as in a dump is named by its operator; other files by their path below
// the folder and the tensor's name in the file. If a dump tells the order in which a graph is executed, its operators
// have positions in that order.
class RunRows {
 public:
  using Each = std::function<void(const Row& row, const Record::Place& place)>;

  RunRows(std::string path, MeterOptions meter, ReadListener listener, Reading reading = {});

  // Passes all rows, file after file. With `only`, just the rows of these iterations; files without such rows are not
  // read again. Returns an error if `path` does not exist. Unreadable files are reported to the listener, once.
  Status each(const Each& each, const std::set<std::uint64_t>* only = nullptr);

  bool are_measured() const { return are_measured_; }  // tensors: to go through them again is to measure them again
  bool is_whole() const { return is_whole_; }          // else some of it could not be read
  Hints& hints() { return hints_; }                    // what lies beside the rows seen so far

 private:
  struct File {
    std::string path;
    std::uint64_t least = UINT64_MAX, most = 0;  // iterations in it, once it has been read
  };
  Status find_files();
  Status each_of(File& file, const Each& each, const std::set<std::uint64_t>* only);
  void measure(const Each& each, const std::set<std::uint64_t>* only);
  void remember_folder(std::uint32_t rank, std::uint64_t iteration, std::uint32_t graph, const std::string& path);
  void complain(const std::string& words);

  const std::string path_;
  const MeterOptions meter_;
  const ReadListener listener_;
  const Reading reading_;
  std::vector<File> files_;
  bool are_found_ = false, are_measured_ = false, is_whole_ = true, was_read_ = false;
  Hints hints_;
  ExecutionOrders orders_;
  // The last folder of rows, and all of them.
  std::tuple<std::uint32_t, std::uint64_t, std::string> last_folder_;
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::string>> folders_;
};

// Adds a row to the record of a run that is read for the first time. A record with kMostRowsKept rows and one more
// drops all, unless it `must_keep` them, and keeps none from then on: `is_short` becomes false.
void add_while_short(Record& record, bool& is_short, bool must_keep, const Row& row, const Record::Place& place);

// Replaces a record by the rows of these iterations (all without `only`) that `takes` chooses, sorted.
Status read_again(Record& record, RunRows& rows, const std::set<std::uint64_t>* only,
                  const std::function<bool(const Row&, const Record::Place&)>& takes = {});

Error nothing_to_read(const std::string& path);

// Whether all tensors below `path` are in one file, or in the shards of one model, with an index or without. Then the
// names of files say nothing about a tensor.
bool is_one_container(const std::string& path);

}  // namespace tensorstat
