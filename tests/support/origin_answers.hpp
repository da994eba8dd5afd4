// For tests of the rules of `origin`: rows as lines of text, and the answer.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "stats/answer/origin/verdict.hpp"

namespace tensorstat::test {

// A line is a row: type, name, i or o with a slot, and what the tensor holds: ok, nan, inf, -inf, or all-nan. "@3"
// begins iteration 3, "#1" the rows of rank 1. A line that begins with { is of watch.ndjson.
struct Rows {
  Record record;
  Hints hints;

  explicit Rows(const std::string& text) {
    std::istringstream lines(text);
    std::map<std::uint32_t, std::string> watches;
    std::uint32_t rank = 0;
    std::uint64_t iteration = 0, time = 0;
    for (std::string line; std::getline(lines, line);) {
      line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
      if (line.empty()) continue;
      if (line[0] == '@') {
        iteration = std::stoull(line.substr(1));
      } else if (line[0] == '#') {
        rank = static_cast<std::uint32_t>(std::stoul(line.substr(1)));
      } else if (line[0] == '{') {
        watches[rank] += line + "\n";
      } else {
        std::istringstream words(line);
        std::string type, name, place, what;
        words >> type >> name >> place >> what;
        record.add(row_of(type, name, place[0] == 'i', std::stoull(place.substr(1)), ++time, what),
                   {.name = name, .rank = rank, .iteration = iteration, .is_parameter = place.ends_with('p')});
      }
    }
    for (const auto& [number, watch] : watches) hints.add_watch(number, watch);
    record.sort();
  }

  static Row row_of(const std::string& type, const std::string& name, bool is_input, std::uint64_t slot,
                    std::uint64_t time, const std::string& what) {
    Row row;
    row.identity = {
        .op_type = type, .op_name = name, .timestamp_us = time, .io = is_input ? "input" : "output", .slot = slot};
    row.data_type = "float32";
    row.shape = {2, 4};
    const bool is_nan = what == "nan" || what == "all-nan";
    const double inf = HUGE_VAL,
                 max = is_nan          ? NAN
                       : what == "inf" ? inf
                                       : 1.5,
                 min = is_nan           ? NAN
                       : what == "-inf" ? -inf
                                        : -2.5;
    row.statistics = {
        {Category::kMax, Category::kMin, Category::kNanCount, Category::kPositiveInfCount, Category::kNegativeInfCount},
        {max, min,
         std::uint64_t{what == "nan" ? 3u
                       : is_nan      ? 8u
                                     : 0u},
         std::uint64_t{what == "inf"}, std::uint64_t{what == "-inf"}}};
    if (what == "bare-nan")
      row.statistics = {{Category::kMax, Category::kMin}, {double{NAN}, double{NAN}}};  // without counts
    return row;
  }
};

// "kind, phase, op_name, iteration, rank"
inline std::string told(const FaultVerdict& verdict) {
  if (verdict.kind == FaultKind::kNone) return "none";
  return std::string(name(verdict.kind)) + ", " + std::string(name(verdict.phase)) + ", " + verdict.guilty.op_name +
         ", " + std::to_string(verdict.iteration) + ", " + std::to_string(verdict.rank);
}
inline Answer ask(const std::string& text, const FaultChoice& choice = {}) {
  Rows run(text);
  return answer_of(run.record, run.hints, choice);
}
inline std::string ask_who(const std::string& text, const FaultChoice& choice = {}) {
  return told(ask(text, choice).verdict);
}

inline bool says(const Answer& answer, const std::string& words) {
  std::string all = answer.verdict.sentence;
  for (const std::string& detail : answer.verdict.details) all += "\n" + detail;
  for (const std::string& note : answer.notes) all += "\n" + note;
  return all.find(words) != all.npos || (ADD_FAILURE() << "\"" << words << "\" is not said in\n" << all, false);
}

constexpr const char* kCode = R"(
  {"kind": "run", "world_size": 1, "every": 1, "inputs": "all", "level": "module"}
  {"kind": "code", "op_name": "Net/forward", "iteration": 0, "file": "/home/me/train.py", "line": 9, "function": "train", "parent": ""}
  {"kind": "code", "op_name": "a/forward", "iteration": 0, "file": "/home/me/model.py", "line": 20, "function": "forward", "parent": "Net/forward"}
  {"kind": "code", "op_name": "b/forward", "iteration": 0, "file": "/home/me/model.py", "line": 21, "function": "forward", "parent": "Net/forward"}
  {"kind": "code", "op_name": "b.act/forward", "iteration": 0, "file": "/home/me/model.py", "line": 41, "function": "forward", "parent": "b/forward"}
)";

}  // namespace tensorstat::test
