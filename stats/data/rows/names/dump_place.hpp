// Reads the place of a dumped file in the training (rank, graph, iteration) from its folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// Uses the layouts of MindSpore, CANN, TorchAir and msprobe in dump_place.cpp. Members that a layout does not have are
// 0; a missing device is rank modulo 8, a missing rank is the device. nullopt if the folders do not belong to a dump.
std::optional<DumpPlace> place_in_dump(const std::string& path);

// The name of the model in the folders of MindSpore's O2, CANN and TorchAir; "" for other files, also where a folder
// has the name of the network, which is a config's.
std::string model_in_dump(const std::string& path);

// As place_in_dump, for a file of rows: msprobe's dump.json lies beside the folder of its tensors.
std::optional<DumpPlace> place_of_rows(const std::string& path);

// As place_in_dump; any other file is rank 0, graph 0, iteration 0.
DumpPlace place_of_file(const std::string& path);

// How a call was executed. msprobe keeps the two in folders of their own above step{N} where a MindSpore job has both.
enum class Execution : std::uint8_t { kUnknown, kPynative, kGraph };
std::string_view name(Execution execution);  // "graph"; empty for kUnknown

// The execution that a file's path names: graph/step{N} or pynative/step{N} in its path.
Execution execution_of_file(const std::string& path);

struct FileOfRun {
  std::string run;    // "/runs/a", the folder in which the layout of a dump begins
  std::string below;  // "rank_0/model/0/7/statistic.csv"
};

// The two parts of a path to rows. nullopt if its folders do not belong to a dump.
std::optional<FileOfRun> file_of_run(const std::string& path);

// Sets the further columns path and, if `place` is set, rank, graph and iteration. Columns that the identity already
// has are not changed. `place` is the place of the file.
void add_place(const std::string& path, const std::optional<DumpPlace>& place, Identity& identity);

// As place_in_dump; caches the last folder.
class FolderPlaces {
 public:
  const std::optional<DumpPlace>& of(const std::string& path);

 private:
  std::optional<std::string> folder_;
  std::optional<DumpPlace> place_;
};

}  // namespace tensorstat
