#include "stats/answer/findings/finding_words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

// A sentence that begins with one of these words begins with a capital. A tensor's name is not changed.
std::string as_sentence(std::string text) {
  for (const std::string_view word : {"parameter ", "gradient ", "gradients ", "update ", "buffer ", "the loss",
                                      "rank ", "optimizer state ", "output of "}) {
    if (text.starts_with(word)) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

std::string what_was_read(const Findings& findings) {
  std::string text = shown_count(findings.rows, "row") + " of " + shown_count(findings.tensors, "tensor");
  if (findings.first_iteration) {
    text +=
        ", iterations " + std::to_string(*findings.first_iteration) + " to " + std::to_string(*findings.last_iteration);
  }
  return text + ", " + shown_count(findings.ranks.size(), "rank");
}

// "65504" as people know it, and 3.4e+38.
std::string shown_end(std::string_view dtype) {
  const double end = end_of_range(dtype);
  return end < 1e6 ? std::to_string(std::lround(end)) : shown_number(end);
}

// The tensor that is nearest to the greatest value of its dtype; empty if none comes near it.
std::string nearest_limit(const History& history) {
  constexpr double kNear = 1.0 / 1024;  // 64 of float16. Ordinary float32 numbers are far from their limit
  double share = kNear, value = 0;
  const HistorySeries* nearest = nullptr;
  std::string dtype;  // of that cell: autocast may begin in the middle of a run
  for (const HistorySeries& series : history.series()) {
    for (const HistoryCell& cell : series.cells) {
      const double greatest = end_of_range(history.dtype(cell)), absmax = history.absmax(cell);
      if (greatest > 0 && absmax < greatest && absmax / greatest > share) {
        share = absmax / greatest;
        value = absmax;
        nearest = &series;
        dtype = history.dtype(cell);
      }
    }
  }
  if (nearest == nullptr) return {};
  return "The nearest to its limit: " + label_of(history, *nearest) + " reached " + shown_number(value) + ", and " +
         dtype + " ends at " + shown_end(dtype);
}

}  // namespace

std::string shown_number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string shown_count(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string sentence_of(const Finding& finding, const History& history, const HistorySeries& series,
                        const Breach& breach) {
  const std::string label = label_of(history, series), first = std::to_string(finding.first_iteration);
  const std::string last = std::to_string(finding.last_clean_iteration.value_or(finding.first_iteration));
  const std::string times = breach.usual > 0 ? shown_number(breach.value / breach.usual) + " times" : "";
  switch (finding.rule) {
    case FindingRule::kOverflow: {
      const std::string dtype(history.dtype(series.cells[breach.cell]));
      return label + " reached " + shown_number(breach.value) + " at iteration " + first + ", and " + dtype +
             " ends at " + shown_end(dtype);
    }
    case FindingRule::kJump:
      return label + " jumped to " + times + " its median at iteration " + first;
    case FindingRule::kDrift:
      return label + " has grown to " + times + " what it was by iteration " + first + ", and began at iteration " +
             std::to_string(history.iteration(series.cells[std::min(breach.began, breach.cell)]));
    case FindingRule::kDead:
      return label + " is all 0 since iteration " + first;
    case FindingRule::kFrozen:
      return label + " has not changed since iteration " + last + ", and others have";
    case FindingRule::kGone:
      return label + " has no rows after iteration " + last + ", and the rest of it has";
    case FindingRule::kUnwritten:
      return label + " has a gradient and is never written, and others are";
    case FindingRule::kNan:
    case FindingRule::kInf:
    case FindingRule::kTurned:
    case FindingRule::kRanks:
    case FindingRule::kStopped:
    case FindingRule::kReplica:
    case FindingRule::kStuck:
    case FindingRule::kUnreached:
    case FindingRule::kShrunk:
    case FindingRule::kMode:
      break;
  }
  return label;
}

std::string sentence_of(const UnequalReplicas& group) {
  const RowKind kind = row_kind(group.op_type);
  std::string sentence = (kind == RowKind::kOfCall ? "output of " : "") + label_of(kind, group.op_name);
  sentence += ": of " + shown_count(group.replicas, "replica");
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    sentence += (i != 0 ? ", " : group.ranks.size() == 1 ? " rank " : " ranks ") + std::to_string(group.ranks[i]);
  }
  return sentence + (group.ranks.size() == 1 ? " differs" : " differ") + " in a bit since iteration " +
         std::to_string(group.iteration);
}

std::vector<std::string> verdict_of(const Findings& findings, const History& history, const FaultVerdict& verdict) {
  std::vector<std::string> sentences;
  if (verdict.kind != FaultKind::kNone) {
    sentences.push_back(verdict.sentence);
    sentences.insert(sentences.end(), verdict.details.begin(), verdict.details.end());
    if (const std::uint64_t others = findings.list.front().others; others != 0) {
      sentences.push_back(shown_count(others, "other tensor") + (others == 1 ? " holds" : " hold") +
                          " NaN or Inf from iteration " + std::to_string(verdict.iteration) + " on");
    }
  } else if (findings.list.empty()) {
    sentences.push_back("Nothing found in " + what_was_read(findings));
    if (verdict.is_blind) sentences.push_back(verdict.sentence);
    if (std::string nearest = nearest_limit(history); !nearest.empty()) sentences.push_back(std::move(nearest));
  } else {
    sentences.push_back(as_sentence(findings.list.front().text) + ". " +
                        (verdict.is_blind         ? verdict.sentence
                         : findings.notes.empty() ? "Neither NaN nor Inf"
                                                  : "No NaN and no Inf lasted"));
  }
  return sentences;
}

std::string text_of(const Findings& findings) {
  const FloatEnvironment ieee;
  std::string text;
  for (const std::string& sentence : findings.verdict) text += (text.empty() ? "" : "  ") + printable(sentence) + "\n";
  if (!findings.list.empty()) text += "\n";
  for (const Finding& finding : findings.list) {
    std::string line(name(severity(finding.rule)));
    line.resize(9, ' ');
    line += name(finding.rule);
    line.resize(19, ' ');
    line += "iteration " + std::to_string(finding.first_iteration) + ", rank " + std::to_string(finding.rank) + ": ";
    // The verdict has the sentence of the fault.
    line += printable(finding.rule <= FindingRule::kInf ? finding.op_name : finding.text);
    text += line + "\n" + std::string(19, ' ') + "next: " + printable(finding.next) + "\n";
  }
  for (const std::string& note : findings.notes) text += "note: " + printable(note) + "\n";
  if (!findings.not_measured.empty()) {
    text += "\nNot judged:\n";
    for (const std::string& each : findings.not_measured) text += "  " + printable(each) + "\n";
  }
  return text;
}

}  // namespace tensorstat
