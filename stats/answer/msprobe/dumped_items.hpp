// The tensors and arguments of a dump, in the order of msprobe's compare.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>
#include <unordered_map>
#include <vector>

#include "stats/answer/msprobe/python_value.hpp"

namespace tensorstat::msprobe {

inline constexpr std::size_t kStatisticCount = 4;  // max, min, mean, l2norm
using Statistics = std::array<PythonValue, kStatisticCount>;

inline constexpr const char* kNotAvailable = "N/A";
inline constexpr const char* kNoDataFile = "-1";

// What a tensor is to its call.
enum class Part : std::uint8_t { kInput, kParameter, kOutput, kGradient, kDebug };

// A tensor, or an argument that is not a tensor.
struct Item {
  std::string name;        // "Functional.conv2d.0.forward.input.0"
  std::string key;         // pairs it: the name, with backward calls numbered in file order
  std::uint32_t call = 0;  // an index into Dump::calls
  Part part = Part::kInput;
  std::string dtype = "None", shape = "None", requires_grad = kNotAvailable, md5 = kNotAvailable;
  std::string data_name = kNoDataFile;  // the name of its file
  Statistics statistics = {"None", "None", "None", "None"};
};

enum class Mode : std::uint8_t { kStatistics, kMd5, kTensor };

struct Dump {
  Mode mode = Mode::kStatistics;
  std::string framework = "pytorch";  // unless the file says otherwise
  std::string data_folder = {};       // the folder of the tensors' files
  std::vector<std::string> calls = {};
  std::vector<Item> items = {};
  bool has_stacks = false;
  std::unordered_map<std::string, std::string> stacks = {};  // by call, as text
};

// `path` is a dump.json, a debug.json, or a file of rows in another dialect. A stack.json beside it is read, too.
Result<Dump> read_dump(const std::string& path);

}  // namespace tensorstat::msprobe
