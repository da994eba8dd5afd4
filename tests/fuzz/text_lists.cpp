// Texts with one entry per line. The formats are alike, and mutations of an input for one soon suit another. So each
// reader reads every input.
#include <algorithm>
#include <cmath>

#include "stats/answer/compare/differences.hpp"
#include "stats/answer/compare/execution_order.hpp"
#include "stats/answer/compare/judge.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

constexpr std::string_view kName = "Default/network/conv1-Conv2d/Conv2D-op12";

void mapping(Input text) {
  std::string written;
  const auto lines = mapping_in(text);
  for (const auto& [number, name] : lines) {
    demand(number.find(',') == number.npos, "a number ends at the comma");
    demand(text.find(mapping_line(number, name)) != text.npos, "a line is part of the text");
    static_cast<void>(is_number(number, kLeastDigits));
    written += mapping_line(number, name) + "\n";
  }
  // no name of a dumped file ends in CR
  const auto ends_in_cr = [](const auto& line) { return line.second.ends_with('\r'); };
  demand(std::ranges::any_of(lines, ends_in_cr) || mapping_in(written) == lines, "what is written is read");
}

void execution_order(Input text) {
  const auto order = ExecutionOrder::parse(text);
  if (!order) return demand_message(order.error().message, 200);
  const auto most = static_cast<std::uint32_t>(std::ranges::count(text, '\n'));
  const Input last = text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  for (const Input name : {last, last.substr(0, last.find('\n')), Input(kName)}) {
    const auto place = order->place_of(name);
    demand(!place || *place < most, "a place is that of a line");
  }
}

void tolerances(Input text) {
  const auto tolerances = Tolerances::parse(text);
  if (!tolerances) return demand_message(tolerances.error().message, 2000);
  for (const Input name : {Input(kName), text.substr(0, std::min(text.find(' '), kName.size()))}) {
    const Tolerance tolerance = tolerances->of(name, "float32");
    demand(std::isfinite(tolerance.rtol) && tolerance.rtol >= 0, "rtol is a bound");
    demand(std::isfinite(tolerance.atol) && tolerance.atol >= 0, "atol is a bound");
  }
}

void renames(Input text) {
  const auto renames = Renames::parse(text);
  if (!renames) return demand_message(renames.error().message, 1000);
  for (const Input name : {Input(kName), text.substr(0, text.find(','))}) {
    demand(renames->of(name).size() <= name.size() + text.size(), "a name grows by no more than what is given");
  }
}

}  // namespace

void text_lists(Input text) {
  mapping(text);
  execution_order(text);
  tolerances(text);
  renames(text);
}

}  // namespace tensorstat::fuzz
