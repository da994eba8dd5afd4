// Writes msprobe's dump: for each step and rank dump.json, stack.json, construct.json and tensors.
#pragma once

#include <memory>
#include <string>

#include "stats/job/dump/msprobe/settings.hpp"
#include "stats/job/dump/output/dump_output.hpp"

namespace tensorstat {

inline constexpr const char* kMsprobeTensorFolder = "dump_tensor_data";
// {path}/step{iteration}/rank{rank}
std::string msprobe_folder(const std::string& path, const DumpPlace& place);

// `settings` must live as long as the output.
std::unique_ptr<DumpOutput> open_msprobe_output(const MsprobeSettings& settings, const OutputContext& context);

}  // namespace tensorstat
