#include "stats/answer/msprobe/call_scopes.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <unordered_map>

#include "stats/answer/msprobe/json_calls.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat::msprobe {
namespace {

using Parts = std::vector<std::string>;

constexpr std::size_t kLeastParts = 4;
constexpr const char* kGradients = "parameters_grad";

std::string joined(std::span<const std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() && &part == parts.data() ? "" : ".").append(part);
  return text;
}

bool is_count(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

bool holds(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != text.npos; });
}

// The members of a JSON file by name.
Result<std::unordered_map<std::string, PythonTree>> members_of(const std::string& path) {
  std::unordered_map<std::string, PythonTree> members;
  const JsonListener listener{[&](const std::string& name, PythonTree&& value) { members[name] = std::move(value); },
                              [](const std::string&, PythonTree&&) {}};
  if (Status read = read_json_calls(path, listener); !read) return read.error();
  return members;
}

// A frame is "File /a/b.py, line 3, in forward, \n code".
std::string_view field_of_frame(std::string_view frame, std::size_t index) {
  for (; index != 0 && !frame.empty(); --index) frame = frame.substr(std::min(frame.find(','), frame.size() - 1) + 1);
  return frame.substr(0, frame.find(','));
}

// The function of the framework through which the caller's code came to an API: the last of the frames at the
// beginning of the stack that are in the framework's files.
std::string framework_function(const PythonTree& stack, bool is_mindspore) {
  std::vector<std::string> lines;
  for (const auto& [unnamed, line] : stack.members) lines.push_back(text_of(line));
  const auto is_end = [&](std::string_view line) {
    return is_mindspore ? holds(line, {"construct"}) : holds(line, {"in forward,", "in backward,"});
  };
  // What is regarded lies between a "Template" and the end of the layer's own function.
  std::size_t first = 0, end = lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (holds(lines[i], {"Template"})) {
      first = i + 1;
    } else if (first != 0 && is_end(lines[i])) {
      end = i;
      break;
    }
  }
  std::optional<std::string_view> frame;
  for (std::size_t i = first; i < end; ++i) {
    if (!holds(field_of_frame(lines[i], 0),
               {"site-packages/torch", "package/torch", "site-packages/mindspore", "package/mindspore"})) {
      break;
    }
    frame = lines[i];
  }
  if (!frame || holds(field_of_frame(*frame, 0), {"msprobe", "MindSpeed"})) return "";
  const std::string_view field = field_of_frame(*frame, 2);  // " in forward"
  if (holds(field, {"construct", "__call__"})) return "";
  std::istringstream words{std::string(field)};
  std::string word, function;
  words >> word >> function;
  return function;
}

struct Named {
  std::string api_type, api_name, type_name, state;
  std::size_t layers = 0;  // how many of the name's parts are layers around it
};

Named named(const Parts& parts) {
  const std::size_t count = parts.size();
  if (parts.back() == kGradients) return {kGradients, parts[count - 3], parts[count - 2], kGradients};
  if (parts[count - 2] == kGradients && is_count(parts.back())) {
    return {kGradients, parts[count - 4], parts[count - 3], kGradients};
  }
  const bool is_layer = parts[0] == "Cell" || parts[0] == "Module";
  return {parts[0], is_layer ? parts[count - 4] : parts[count - 3], parts[count - 3],
          is_layer ? parts[count - 2] : parts[count - 1]};
}

// The layers around a call. `parent` is the layer that construct.json names.
std::string layers_of(const Parts& parts, const std::string& api_type, const std::string& parent) {
  Parts layers = parts;
  if (api_type == "Cell" || api_type == "Module") {
    layers.erase(layers.end() - 4);  // its own name
  } else if (api_type != kGradients) {
    layers = parent.empty() ? Parts{} : parts_of_name(parent);
  }
  if (layers.empty()) return "TopLayer";
  return joined(std::span(layers).first(layers.size() - std::min<std::size_t>(layers.size(), 3)));
}

constexpr std::uint64_t kNoNumber = UINT64_MAX;

// The last number in the part of `scope` that follows `prefix`, and where that part ends. Nothing if `scope` is not
// below `prefix`.
struct Numbered {
  std::uint64_t number = kNoNumber;
  std::size_t end = 0;
};
std::optional<Numbered> numbered_below(const std::string& scope, const std::string& prefix) {
  if (scope.size() <= prefix.size() + 1 || !scope.starts_with(prefix + ".")) return {};
  Numbered numbered{.end = std::min(scope.find('.', prefix.size() + 2), scope.size())};
  const char* last = scope.data() + numbered.end;
  const char* const begin = scope.data() + prefix.size() + 1;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (last != begin && !is_digit(last[-1])) --last;
  const char* first = last;
  while (first != begin && is_digit(first[-1])) --first;
  if (std::from_chars(first, last, numbered.number).ec != std::errc()) numbered.number = kNoNumber;
  return numbered;
}

// In a pipeline MindSpore numbers a ParallelTransformer's layers over all ranks, PyTorch within one. msprobe counts
// both from the least number.
void renumber_layers(std::vector<CallScope>& calls) {
  std::vector<std::string> prefixes;
  for (const CallScope& call : calls) {
    const std::string prefix = call.scope + ".layers";
    if (call.type_name == "ParallelTransformer" && std::ranges::count(prefixes, prefix) == 0)
      prefixes.push_back(prefix);
  }
  for (const std::string& prefix : prefixes) {
    std::uint64_t least = kNoNumber;
    for (const CallScope& call : calls) {
      if (const auto numbered = numbered_below(call.scope, prefix)) least = std::min(least, numbered->number);
    }
    for (CallScope& call : calls) {
      const auto numbered = numbered_below(call.scope, prefix);
      if (!numbered || (numbered->number == kNoNumber && least != kNoNumber)) continue;
      // Where no part has a number, msprobe subtracts infinity from infinity.
      const std::string index = least == kNoNumber ? "nan" : std::to_string(numbered->number - least);
      call.scope = prefix + "." + index + call.scope.substr(numbered->end);
    }
  }
}

}  // namespace

std::vector<std::string> parts_of_name(const std::string& name) {
  Parts parts(1);
  for (const char c : name) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Result<std::vector<CallScope>> scopes_of_calls(const std::string& path, const Dump& dump) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const auto stacks = members_of((folder / "stack.json").string());
  if (!stacks) return stacks.error();
  const auto parents = members_of((folder / "construct.json").string());
  if (!parents) return parents.error();

  std::vector<CallScope> calls;
  std::unordered_map<std::string, std::size_t> places;  // by call
  for (const std::string& call : dump.calls) {
    const Parts parts = parts_of_name(call);
    if (parts.size() < kLeastParts) {
      return Error{Code::kUnreadable, printable(path) + ": a layer mapping needs calls of four parts, such as " +
                                          "Functional.relu.0.forward, and one is " + shown(call)};
    }
    const Named names = named(parts);
    const auto parent = parents->find(call), stack = stacks->find(call);
    // With Megatron's micro steps the value is a list: the layer and the step.
    const PythonTree* layer = parent == parents->end() ? nullptr : &parent->second;
    if (layer != nullptr && layer->is_list()) layer = layer->members.empty() ? nullptr : &layer->members[0].second;
    std::string scope = layers_of(parts, names.api_type, layer != nullptr && layer->is_text() ? text_of(*layer) : "");
    const bool is_layer = names.api_type == "Cell" || names.api_type == "Module";
    if (!is_layer && names.api_type != "Primitive" && names.api_type != "Jit" && stack != stacks->end()) {
      const std::string function = framework_function(stack->second, dump.framework == "mindspore");
      if (!function.empty()) scope += "." + function;
    }
    places.emplace(call, calls.size());
    calls.push_back({call, names.type_name, scope + "." + names.api_name, names.state});
  }
  // A backward call has no stack: it is where its forward call is.
  for (CallScope& call : calls) {
    Parts parts = parts_of_name(call.call);
    const auto last_two = std::span(parts).last(2);
    if (std::ranges::find(last_two, "backward") == last_two.end()) continue;
    for (std::string& part : last_two) {
      if (part == "backward") part = "forward";
    }
    if (const auto forward = places.find(joined(parts)); forward != places.end()) {
      call.scope = calls[forward->second].scope;
    }
  }
  renumber_layers(calls);
  return calls;
}

}  // namespace tensorstat::msprobe
