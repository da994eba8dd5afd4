#include "stats/job/dump/msprobe/call_text.hpp"

#include <limits>

#include "stats/data/json/json_writer.hpp"

namespace tensorstat {
namespace {

void append_list(JsonWriter& json, const std::map<std::uint32_t, std::string>& leaves, std::uint32_t least_count = 0) {
  constexpr std::uint32_t kMostGap = 4096;
  json.begin_list();
  std::uint32_t next = 0;
  for (const auto& [slot, leaf] : leaves) {
    if (slot - next > kMostGap) next = slot;
    for (; next < slot; ++next) json.null();
    json.raw(leaf);
    next = slot + 1;
  }
  for (; next < least_count && least_count - next <= kMostGap; ++next) json.null();
  json.end();
}

void append_object(JsonWriter& json, const std::vector<std::pair<std::string, std::string>>& leaves) {
  json.begin_object();
  for (const auto& [name, leaf] : leaves) json.key(name).raw(leaf);
  json.end();
}

std::string laid_out(const CallText& call, InputOutput lists) {
  const auto leaf_of = [&](bool is_output, std::uint64_t slot) -> const std::string* {
    const auto& leaves = is_output ? call.outputs : call.inputs;
    if (slot > std::numeric_limits<std::uint32_t>::max()) return nullptr;
    const auto leaf = leaves.find(static_cast<std::uint32_t>(slot));
    return leaf == leaves.end() ? nullptr : &leaf->second;
  };
  return call.layout.text(leaf_of, [&](std::string_view member) {
    const bool is_input = member.starts_with("input");
    return lists == InputOutput::kBoth || is_input == (lists == InputOutput::kInputs);
  });
}

}  // namespace

std::string dump_json_head(std::string_view task, std::string_view level, std::string_view framework,
                           std::string_view tensor_folder) {
  std::string head;
  JsonWriter json(head, kPythonJson);
  json.begin_object().key("task").text(task).key("level").text(level).key("framework").text(framework);
  json.key("dump_data_dir").text_or_null(tensor_folder).key("data").begin_object();
  return head;
}

std::string text_of(const CallText& call, InputOutput lists, std::string_view framework) {
  const auto whole = [&](const std::string& members) {
    return "\n  " + json_quoted(call.key, true) + ": " + indented(members, 2);
  };
  if (call.kind == ApiName::Kind::kSaved) {
    // A saved value is a tensor, or the layout's only member.
    constexpr std::string_view kBefore = "{\n \"debug\": ", kAfter = "\n}";
    const std::string text = call.layout.is_known() ? laid_out(call, InputOutput::kBoth) : "";
    if (!text.starts_with(kBefore)) return whole(call.outputs.empty() ? "null" : call.outputs.begin()->second);
    const std::string value = text.substr(kBefore.size(), text.size() - kBefore.size() - kAfter.size());
    return "\n  " + json_quoted(call.key, true) + ": " + indented(value, 1);
  }
  const bool are_gradients = call.kind == ApiName::Kind::kGradients;
  if (call.layout.is_known()) return whole(laid_out(call, are_gradients ? InputOutput::kBoth : lists));
  std::string text;
  JsonWriter json(text, kPythonJson);
  json.begin_object();
  if (are_gradients) {
    const auto add = [&](std::string_view name, const std::string& leaf) {
      json.key(name).begin_list().raw(leaf).end();
    };
    for (const auto& [name, leaf] : call.parameters) add(name, leaf);
    for (const auto* leaves : {&call.inputs, &call.outputs}) {
      for (const auto& [slot, leaf] : *leaves) add(std::to_string(slot), leaf);
    }
  } else {
    if (lists != InputOutput::kOutputs) {
      append_list(json.key(call.is_backward ? "input" : "input_args"), call.inputs, call.named_from);
      if (!call.is_backward) append_object(json.key("input_kwargs"), call.keywords);
    }
    if (lists != InputOutput::kInputs) append_list(json.key("output"), call.outputs);
    if (!call.parameters.empty()) append_object(json.key("parameters"), call.parameters);
    if (framework == "pytorch" && !call.is_backward) json.key("is_recompute").truth(false);
  }
  json.end();
  return whole(text);
}

}  // namespace tensorstat
