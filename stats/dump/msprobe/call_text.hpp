// dump.json as a text: what stands before its calls, and one call with its tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/dump/config/dump_config.hpp"
#include "stats/dump/msprobe/api_name.hpp"
#include "stats/rows/dump_json/call_layout.hpp"

namespace tensorstat {

// Everything before the calls. `tensor_folder`: where tensors are saved; "" where they are not.
std::string dump_json_head(std::string_view task, std::string_view level, std::string_view framework,
                           std::string_view tensor_folder);
// What follows them, or the head where there are none.
inline constexpr std::string_view kDumpJsonTail = "\n }\n}", kEmptyDumpJsonTail = "}\n}";

// A call and what is said of its tensors.
struct CallText {
  ApiName::Kind kind = ApiName::Kind::kApi;
  bool is_backward = false;
  std::string key = {};
  std::map<std::uint32_t, std::string> inputs = {}, outputs = {};  // leaves by slot
  // Leaves by name, behind those inputs: they begin with this slot.
  std::vector<std::pair<std::string, std::string>> keywords = {}, parameters = {};
  std::uint32_t named_from = 0;
  CallLayout layout = {};  // where it is known it alone says where leaves stand
};

// A member of `data`, as it follows the head or a comma. Slots that nothing is said of are null; a slot far beyond the
// others follows them. `said`: which lists there are. Of gradients, `parameters` are what they are of.
std::string text_of(const CallText& call, InputOutput said, std::string_view framework);

}  // namespace tensorstat
