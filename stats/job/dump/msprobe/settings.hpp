// The settings that only msprobe's config.json has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tensorstat {

enum class Summary : std::uint8_t {
  kStatistics,  // Max, Min, Mean, Norm
  kCrc32,       // kStatistics and a CRC-32, which msprobe calls md5
  kXor,         // only a 64-bit XOR
};

struct MsprobeSettings {
  std::string task, level;  // as dump.json repeats them
  Summary summary = Summary::kStatistics;
  bool has_high_precision = false;  // statistics of half types in float32 instead of their own dtype
  bool has_extra_info = true;       // write stack.json and construct.json
  bool saves_all_tensors = false;
  std::vector<std::string> list, tensor_list;  // parts of keys; tensor_list: the calls whose tensors are saved
  std::optional<std::pair<std::string, std::string>> scope;  // the first and the last key, both included
};

}  // namespace tensorstat
