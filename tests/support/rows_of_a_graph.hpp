// For tests of the command: the rows of a graph of three operators, as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat::test {

constexpr const char* kHeading =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value\n";

// Rows of MindSpore 2.7 for a graph of three operators. `values` has the max of each row.
inline std::string dump(const std::vector<std::string>& values, const std::string& prefix = "Default_") {
  const char* rows[][4] = {{"Mul", "net_Mul-op1", "input", "0"}, {"Mul", "net_Mul-op1", "output", "0"},
                           {"Exp", "net_Exp-op2", "input", "0"}, {"Exp", "net_Exp-op2", "output", "0"},
                           {"Sub", "net_Sub-op3", "input", "0"}, {"Sub", "net_Sub-op3", "output", "0"}};
  std::string text = kHeading;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [type, name, io, slot] = rows[i];
    text += std::string(type) + "," + prefix + name + ",0,0," + std::to_string(100 + i) + "," + io + "," + slot +
            ",24,float32,\"(2,3)\"," + values[i] + ",-1,2,\n";
  }
  return text;
}

inline void put(const ScratchFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder / name;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

}  // namespace tensorstat::test
