// Where in the training a dumped file was, read from the folders that it lies in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// By the layouts of dump_place.cpp: those of MindSpore, CANN, TorchAir and msprobe. What a layout does not say is 0; a
// rank's device is rank modulo 8, and a device's rank is the device. nullopt: these are no folders of a dump.
std::optional<DumpPlace> place_in_dump(const std::string& path);

// The same of a file of rows: msprobe's dump.json lies beside the folder of its tensors.
std::optional<DumpPlace> place_of_rows(const std::string& path);

// place_in_dump, where anything else is iteration 0 of graph 0 of rank 0.
DumpPlace place_of_file(const std::string& path);

// How a call was executed. msprobe keeps the two in folders of their own above step{N} where a MindSpore job has both.
enum class Execution : std::uint8_t { kUnknown, kPynative, kGraph };
std::string_view name(Execution execution);  // "graph"; empty for kUnknown

// The same of a file below such a folder, by graph/step{N} or pynative/step{N} in its path.
Execution execution_of_file(const std::string& path);

// Sets the further columns path, and, where the folders are those of a dump, rank, graph and iteration; those that the
// identity has stay. `place` is that of the file.
void add_place(const std::string& path, const std::optional<DumpPlace>& place, Identity& identity);

// place_in_dump, which looks once at a folder that many files in a row lie in.
class FolderPlaces {
 public:
  const std::optional<DumpPlace>& of(const std::string& path);

 private:
  std::optional<std::string> folder_;
  std::optional<DumpPlace> place_;
};

}  // namespace tensorstat
