// How names of the NPU's tensors become names of the Bench's: msprobe's options -am, -cm, -dm and -lm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/msprobe/dumped_items.hpp"

namespace tensorstat::msprobe {

// What the names in a mapping file are. The files are msprobe's yaml files, which the caller has parsed.
enum class MappingKind : std::uint8_t {
  kNone,
  kApi,    // a list of {ms_api, pt_api, ms_args: [...], pt_args: [...], ...}; without a file only msprobe's own table
  kCell,   // {cell: module}; without a file only Cell becomes Module
  kData,   // {tensor: tensor}: whole names, as the first column of the table has them
  kLayer,  // {type of a layer: {member: member}}; without a file members have the same names
};

struct Mapping {
  MappingKind kind = MappingKind::kNone;
  std::optional<PythonTree> file = {};

  // msprobe pairs tensors of any dtypes if it has a name for each tensor.
  bool pairs_any_dtype() const {
    return kind == MappingKind::kLayer || (kind == MappingKind::kData && file && file->is_true());
  }
};

// Sets the keys of the NPU's items. kLayer also reads stack.json and construct.json beside both dump.json. Errors: the
// file's content is not what its kind wants; kLayer misses a file; kApi with two dumps of PyTorch.
Status map_keys(const Mapping& mapping, const std::string& npu_path, const std::string& bench_path, Dump& npu,
                const Dump& bench);

}  // namespace tensorstat::msprobe
