#include "stats/job/dump/session/arrivals.hpp"

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

// "[0-2, 5]"
std::string words_of(const NumberSet& numbers) {
  std::string text;
  for (const auto& [first, last] : numbers.ranges()) {
    text.append(text.empty() ? "" : ", ").append(std::to_string(first));
    if (last != first) text.append("-").append(std::to_string(last));
  }
  return "[" + shown(text, 100) + "]";
}

}  // namespace

std::string Arrivals::Span::words(std::string_view what) const {
  const std::uint64_t first = first_, last = last_;
  if (first == last) return std::string(what) + " " + std::to_string(first) + " did";
  return std::string(what) + "s " + std::to_string(first) + " to " + std::to_string(last) + " did";
}

std::string Arrivals::why_nothing(const DumpConfig& config) const {
  if (ranks_.is_any() && !steps_.is_any()) {
    return "of rank " + words_of(config.ranks) + " nothing came; " + ranks_.words("rank");
  }
  if (steps_.is_any() && !has_wanted_step_) {
    if (config.iteration.all()) return "the dump was stopped in each step that came";
    return "of " + config.keys.step + " " + words_of(config.iteration) + " nothing came; " + steps_.words("step");
  }
  const bool wants_inputs = config.input_output == InputOutput::kInputs;
  if (config.input_output != InputOutput::kBoth && !(wants_inputs ? has_inputs_ : has_outputs_) &&
      (wants_inputs ? has_outputs_ : has_inputs_)) {
    return config.keys.direction + " wants " + (wants_inputs ? "inputs" : "outputs") + ", and only " +
           (wants_inputs ? "outputs" : "inputs") + " came";
  }
  return {};
}

}  // namespace tensorstat
