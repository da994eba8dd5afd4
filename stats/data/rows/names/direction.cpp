#include "stats/data/rows/names/direction.hpp"

#include <optional>
#include <tuple>
#include <utility>

namespace tensorstat {
namespace {

using Writer = DirectedName::Writer;

bool is_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// "a.b" and "c" of "a.b.c"; "" and "c" of "c".
std::pair<std::string_view, std::string_view> cut_last(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == name.npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::optional<DirectedName> of_msprobe(std::string_view name) {
  auto [stem, word] = cut_last(name);
  std::string_view number;
  if (is_digits(word)) {
    number = word;
    std::tie(stem, word) = cut_last(stem);
  }
  if (stem.empty()) return std::nullopt;
  if (word == "forward") return DirectedName{stem, number, Direction::kForward, Writer::kMsprobe};
  if (word == "backward") return DirectedName{stem, number, Direction::kBackward, Writer::kMsprobe};
  if (word == "parameters_grad") return DirectedName{stem, number, Direction::kParameterGradients, Writer::kMsprobe};
  return std::nullopt;
}

}  // namespace

DirectedName directed_name_of(std::string_view op_name) {
  for (const auto& [ending, direction] :
       {std::pair{kForwardEnding, Direction::kForward}, std::pair{kBackwardEnding, Direction::kBackward},
        std::pair{kEvalEnding, Direction::kEvaluation}, std::pair{std::string_view("_forward"), Direction::kForward},
        std::pair{std::string_view("_eval"), Direction::kEvaluation},
        std::pair{std::string_view("_backward"), Direction::kBackward}}) {
    if (op_name.ends_with(ending))
      return {op_name.substr(0, op_name.size() - ending.size()), {}, direction, Writer::kWatch};
  }
  if (const auto call = of_msprobe(op_name)) return *call;
  if (op_name.starts_with("Gradients/") || op_name.starts_with("Gradients_"))
    return {op_name, {}, Direction::kBackward, Writer::kGraph};
  return {op_name};
}

std::string forward_name_of(std::string_view op_name) {
  if (!op_name.ends_with(kBackwardEnding)) return std::string(op_name);
  return std::string(directed_name_of(op_name).stem) + std::string(kForwardEnding);
}

}  // namespace tensorstat
