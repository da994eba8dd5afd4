// dump.json as text: its head, and one call with its tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/data/rows/dump_json/call_layout.hpp"
#include "stats/job/dump/config/dump_config.hpp"
#include "stats/job/dump/msprobe/api_name.hpp"

namespace tensorstat {

// The text before the calls. `tensor_folder`: the folder of saved tensors; "" if none are saved.
std::string dump_json_head(std::string_view task, std::string_view level, std::string_view framework,
                           std::string_view tensor_folder);
// The text after the calls, or after the head if there are no calls.
inline constexpr std::string_view kDumpJsonTail = "\n }\n}", kEmptyDumpJsonTail = "}\n}";

// A call and the JSON texts of its tensors.
struct CallText {
  ApiName::Kind kind = ApiName::Kind::kApi;
  bool is_backward = false;
  std::string key = {};
  std::map<std::uint32_t, std::string> inputs = {}, outputs = {};  // leaves by slot
  // Leaves that have names. Their slots follow those of `inputs`, from named_from on.
  std::vector<std::pair<std::string, std::string>> keywords = {}, parameters = {};
  std::uint32_t named_from = 0;
  CallLayout layout = {};  // if known, it decides where each leaf goes
};

// A member of `data`, to be written after the head or a comma. Missing slots become null. A slot far beyond the others
// follows them directly. `lists`: which lists are written. In a call of kind kGradients, `parameters` are the
// parameters of the gradients.
std::string text_of(const CallText& call, InputOutput lists, std::string_view framework);

}  // namespace tensorstat
