// What msprobe's config.json says beyond what every config says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tensorstat {

enum class Summary : std::uint8_t {
  kStatistics,  // Max, Min, Mean, Norm
  kCrc32,       // these and a CRC-32, which msprobe calls md5
  kXor,         // a 64-bit XOR alone
};

struct MsprobeSettings {
  std::string task, level;  // as dump.json repeats them
  Summary summary = Summary::kStatistics;
  bool has_high_precision = false;  // statistics of half types in float32, and not in their own dtype
  bool has_extra_info = true;       // stack.json and construct.json are written
  bool saves_all_tensors = false;
  std::vector<std::string> list, tensor_list;                // parts of keys; tensor_list: of those whose tensors are saved
  std::optional<std::pair<std::string, std::string>> scope;  // keys: from the first to the second, both included
};

}  // namespace tensorstat
