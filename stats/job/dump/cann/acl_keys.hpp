// The keys of acl.json's "dump" object, and CANN's error code for each kind of mistake.
#pragma once

#include <span>
#include <string_view>

namespace tensorstat {

// CANN's error codes.
inline constexpr std::string_view kWrongItem = "EP0001", kWrongWord = "EP0002", kWrongValue = "EP0003",
                                  kWrongTogether = "EP0005";

struct AclKey {
  std::string_view name;
  std::span<const std::string_view> words = {};  // the allowed words; none: any text. The first is the default
  bool is_list = false;                          // words separated by commas
};

inline constexpr std::string_view kModes[] = {"output", "input", "all"};
inline constexpr std::string_view kData[] = {"tensor", "stats"};
inline constexpr std::string_view kLevels[] = {"all", "op", "kernel"};
inline constexpr std::string_view kSwitches[] = {"off", "on"};
inline constexpr std::string_view kScenes[] = {
    "", "lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"};
inline constexpr std::string_view kKernelData[] = {"", "all", "printf", "tensor", "assert", "timestamp"};
inline constexpr std::string_view kStatsWords[] = {"Max",          "Min",          "Avg",   "Nan",
                                                   "Negative Inf", "Positive Inf", "L2norm"};

// Keys with a text as value.
inline constexpr AclKey kAclTexts[] = {
    {"dump_path"},
    {"dump_step"},
    {"dump_mode", kModes},
    {"dump_data", kData},
    {"dump_level", kLevels},
    {"dump_op_switch", kSwitches},
    {"dump_debug", kSwitches},
    {"dump_scene", kScenes},
    {"dump_kernel_data", kKernelData, true},
};

}  // namespace tensorstat
