// A list of a plan, and a state of its parts. Checksums are made right first, or else no changed byte would get past
// them.
#include <span>
#include <string>

#include "stats/answer/parts/merged_states.hpp"
#include "stats/answer/parts/plan.hpp"
#include "stats/core/base/crc32.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

std::string with_right_checksums(Input bytes) {
  std::string text(bytes);
  for (std::size_t offset = 8; offset + 8 <= text.size();) {
    std::uint32_t length = 0;
    for (int i = 3; i >= 0; --i)
      length = length << 8 | static_cast<unsigned char>(text[offset + static_cast<std::size_t>(i)]);
    if (length > text.size() - offset - 8) break;
    const std::uint32_t crc = crc32_of(0, std::as_bytes(std::span(text).subspan(offset + 8, length)));
    for (std::size_t i = 0; i < 4; ++i) text[offset + 4 + i] = static_cast<char>(crc >> (8 * i));
    offset += 8 + length;
  }
  return text;
}

void list(Input bytes) {
  const auto list = PartList::parse(bytes);
  if (!list) return demand_message(list.error().message, 300);
  const auto again = PartList::parse(list->text());
  demand(again && again->text() == list->text(), "what is written is read");
}

}  // namespace

void tree_state(Input bytes) {
  list(bytes);
  const std::string text = with_right_checksums(bytes);
  MergedStates merged;
  if (Status added = merged.add("a.tsp", text); !added) return demand_message(added.error().message, 300);
  demand(static_cast<bool>(merged.add("b.tsp", text)), "a state goes with itself");
  demand(static_cast<bool>(merged.join()), "the same parts are left out");
  std::uint64_t rows = 0, broken = 0;
  merged.each({.row = [&](SurveyedTensor&& row) { rows += !row.label().empty(); },
               .fault = [](const StateRecord&) {},
               .broken = [&](const std::string& why) { broken += !why.empty(); }});
  const auto state = merged.state();
  if (!state) return demand(broken != 0, "only a broken tensor cannot be written");
  MergedStates again;
  demand(again.add("c.tsp", *state) && again.join(), "what is written is read");
  std::uint64_t rows_again = 0;
  again.each({.row = [&](SurveyedTensor&&) { ++rows_again; },
              .fault = [](const StateRecord&) {},
              .broken = [](const std::string&) {}});
  demand(rows_again == rows, "a merged state has the same rows");
}

}  // namespace tensorstat::fuzz
