#include <algorithm>
#include <cmath>
#include <string>

#include "stats/answer/origin/verdict.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

// A step of a model with three modules. One of them produces NaN.
Record step() {
  Record record;
  constexpr const char* kRows[][3] = {{"Net", "Net/forward", "input"},    {"Linear", "a/forward", "output"},
                                      {"Log", "a.act/forward", "output"}, {"Net", "Net/forward", "output"},
                                      {"Net", "Net/backward", "input"},   {"Linear", "a/backward", "output"},
                                      {"Loss", "loss", "output"}};
  std::uint64_t time = 0;
  for (const auto& [type, name, io] : kRows) {
    Row row;
    row.identity = {.op_type = type, .op_name = name, .timestamp_us = ++time, .io = io};
    row.data_type = "float32";
    row.shape = {2};
    const bool is_clean = time < 3;
    row.statistics = {{Category::kMax, Category::kNanCount},
                      {is_clean ? 1.0 : double{NAN}, std::uint64_t{is_clean ? 0u : 2u}}};
    record.add(row, {.name = name});
  }
  record.sort();
  return record;
}

}  // namespace

void origin_hints(Input text) {
  for (const char* name : {"Default/Conv2D-op12", ""}) {
    const auto line = line_in_graph(text, name);
    demand(!line || text.find(line->file) != text.npos, "a file is part of the text");
  }
  const auto line = line_in_stack({text, text.substr(0, text.find('\n'))});
  demand(!line || text.find(line->file) != text.npos, "a file is part of the frame");
  static const Record record = step();
  Hints hints;
  hints.add_watch(0, text);
  const Answer answer = answer_of(record, hints, {});
  demand_message(answer.verdict.sentence, 1 << 20);
  demand(answer.verdict.details.size() <= 8, "the answer is short");
  for (const std::string& detail : answer.verdict.details) demand_message(detail, 1 << 20);
  for (const std::string& note : answer.notes) demand_message(note, 1 << 20);
}

}  // namespace tensorstat::fuzz
