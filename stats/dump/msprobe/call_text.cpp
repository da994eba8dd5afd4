#include "stats/dump/msprobe/call_text.hpp"

#include <limits>

#include "stats/json/python_json.hpp"

namespace tensorstat {
namespace {

PythonList list_of(const std::map<std::uint32_t, std::string>& leaves, std::uint32_t least_count = 0) {
  constexpr std::uint32_t kMostGap = 4096;
  PythonList list = python_array();
  std::uint32_t next = 0;
  for (const auto& [slot, leaf] : leaves) {
    if (slot - next > kMostGap) next = slot;
    for (; next < slot; ++next) list.add("null");
    list.add(leaf);
    next = slot + 1;
  }
  for (; next < least_count && least_count - next <= kMostGap; ++next) list.add("null");
  return list;
}

PythonList object_of(const std::vector<std::pair<std::string, std::string>>& leaves) {
  PythonList object = python_object();
  for (const auto& [name, leaf] : leaves) object.add(name, leaf);
  return object;
}

std::string laid_out(const CallText& call, InputOutput said) {
  const auto leaf_of = [&](bool is_output, std::uint64_t slot) -> const std::string* {
    const auto& leaves = is_output ? call.outputs : call.inputs;
    if (slot > std::numeric_limits<std::uint32_t>::max()) return nullptr;
    const auto leaf = leaves.find(static_cast<std::uint32_t>(slot));
    return leaf == leaves.end() ? nullptr : &leaf->second;
  };
  return call.layout.text(leaf_of, [&](std::string_view member) {
    const bool is_input = member.starts_with("input");
    return said == InputOutput::kBoth || is_input == (said == InputOutput::kInputs);
  });
}

}  // namespace

std::string dump_json_head(std::string_view task, std::string_view level, std::string_view framework,
                           std::string_view tensor_folder) {
  return "{\n \"task\": " + python_quoted(task) + ",\n \"level\": " + python_quoted(level) +
         ",\n \"framework\": " + python_quoted(framework) +
         ",\n \"dump_data_dir\": " + (tensor_folder.empty() ? "null" : python_quoted(tensor_folder)) + ",\n \"data\": {";
}

std::string text_of(const CallText& call, InputOutput said, std::string_view framework) {
  const auto whole = [&](const std::string& members) {
    return "\n  " + python_quoted(call.key) + ": " + indented(members, 2);
  };
  if (call.layout.is_known()) return whole(laid_out(call, said));
  PythonList members = python_object();
  if (call.kind == ApiName::Kind::kGradients) {
    const auto add = [&](std::string_view name, const std::string& leaf) {
      PythonList one = python_array();
      one.add(leaf);
      members.add(name, one.text());
    };
    for (const auto& [name, leaf] : call.parameters) add(name, leaf);
    for (const auto* leaves : {&call.inputs, &call.outputs}) {
      for (const auto& [slot, leaf] : *leaves) add(std::to_string(slot), leaf);
    }
  } else {
    if (said != InputOutput::kOutputs) {
      members.add(call.is_backward ? "input" : "input_args", list_of(call.inputs, call.named_from).text());
      if (!call.is_backward) members.add("input_kwargs", object_of(call.keywords).text());
    }
    if (said != InputOutput::kInputs) members.add("output", list_of(call.outputs).text());
    if (!call.parameters.empty()) members.add("parameters", object_of(call.parameters).text());
    if (framework == "pytorch" && !call.is_backward) members.add("is_recompute", "false");
  }
  return whole(members.text());
}

}  // namespace tensorstat
