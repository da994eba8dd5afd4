#include "stats/show/cli/report/report_diff.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "stats/answer/compare/comparison_json.hpp"
#include "stats/answer/origin/sentence.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/report/report.hpp"
#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::size_t kMostUnmatched = 5;

// The tensor's label, with rank and iteration.
std::string place_of(const Record& record, const RecordRow& row) {
  if (!record.texts()[row.file].empty()) return printable_name(label_of(record, row));
  return printable_name(record.texts()[row.op_type]) + " " + printable_name(record.texts()[row.name]) + " " +
         (row.is_input ? "input" : "output") + " " + std::to_string(row.slot) + " (" +
         (row.execution == Execution::kUnknown ? "" : std::string(name(row.execution)) + ", ") + "rank " +
         std::to_string(row.rank) + ", iteration " + std::to_string(row.iteration) + ")";
}

std::string place_of(const Compared& compared, const Beginning& beginning) {
  const Record &a = compared.a.record, &b = compared.b.record;
  return beginning.in_b ? place_of(b, b.rows()[*beginning.in_b]) : place_of(a, a.rows()[beginning.in_a]);
}

// The two rows of a beginning, side by side.
std::optional<Pair> pair_of(const Compared& compared, const Beginning& beginning) {
  if (beginning.is_in_b_alone) return std::nullopt;
  if (beginning.in_b) return Pair{beginning.in_a, *beginning.in_b, {}};
  const Differences& differences = compared.differences;
  const auto pair = std::ranges::find(differences.pairs, beginning.in_a, &Pair::in_a);
  if (pair != differences.pairs.end()) return *pair;
  const auto changed =
      std::ranges::find(differences.changed_a, beginning.in_a, &std::pair<std::uint32_t, std::uint32_t>::first);
  return changed == differences.changed_a.end() ? std::nullopt
                                                : std::optional(Pair{changed->first, changed->second, {}});
}

std::string value_or_none(const Value& value) {
  return std::holds_alternative<std::monostate>(value) ? "none" : to_string(value);
}

std::string digits_of(const Value& value) {
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return short_text(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", *real);
  return std::isnan(*real) ? "nan" : text;
}

// The statistics of two rows that differ most: "max 3 and 6, l2norm 5 and 9".
std::string numbers_that_differ(const Compared& compared, const Pair& pair) {
  constexpr int kMost = 4;
  const auto a = compared.a.record.statistics(compared.a.record.rows()[pair.in_a]),
             b = compared.b.record.statistics(compared.b.record.rows()[pair.in_b]);
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < a.categories.size() && count < kMost; ++i) {
    const Value* other = b.find(a.categories[i]);
    if (other == nullptr || digits_of(a.values[i]) == digits_of(*other) || kind(a.categories[i]) == ValueKind::kDigest)
      continue;
    text += (count++ == 0 ? "" : ", ") + std::string(name(a.categories[i])) + " " + digits_of(a.values[i]) + " and " +
            digits_of(*other);
  }
  return text;
}

std::string unmatched(const Record& record, const std::vector<std::uint32_t>& rows, const char* where, bool with_all) {
  const std::size_t most = with_all ? rows.size() : kMostUnmatched;
  std::string text;
  for (std::size_t i = 0; i < rows.size() && i < most; ++i) {
    text += "only in " + std::string(where) + "  " + place_of(record, record.rows()[rows[i]]) + "\n";
  }
  if (rows.size() > most) {
    text += "only in " + std::string(where) + "  " + std::to_string(rows.size() - most) + " more: --all\n";
  }
  return text;
}

std::string statistics_text(const StatisticsView& statistics) {
  std::string text;
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::string(name(statistics.categories[i])) + " " +
            value_or_none(statistics.values[i]);
  }
  return text;
}

// Why two rows cannot be compared. Empty: they can be.
std::string reason_of(const Judgement& judgement) { return category_from(judgement.why) ? "" : judgement.why; }

}  // namespace

std::string beginnings_of(const Compared& compared) {
  std::string text;
  for (const Beginning& beginning : *compared.first) {
    const auto pair = pair_of(compared, beginning);
    const std::string numbers = pair ? numbers_that_differ(compared, *pair) : "";
    const std::string why = pair ? reason_of(pair->judgement) : "";
    text += (beginning.enters ? "enters here  " : "begins here  ") + place_of(compared, beginning) + ", " +
            std::string(name(beginning.phase)) +
            (why.empty() ? "  adds " + digits_of(Value(beginning.added)) : "  " + printable(why)) + "\n";
    if (beginning.in_b && pair) text += "    B has another value here than A wrote last\n";
    if (!pair) text += std::string("    only ") + (beginning.in_b ? "B" : "A") + " has it\n";
    if (!numbers.empty()) text += "    " + numbers + "\n";
    if (beginning.code) {
      text += "    called at " + printable_name(beginning.code->file) +
              (beginning.code->line == 0 ? "" : ":" + std::to_string(beginning.code->line)) + "\n";
    }
    if (beginning.since) {
      text += "    the dump has no inputs of it: the difference may begin in code " +
              (beginning.since->empty() ? "before this call"
                                        : "between " + printable_name(*beginning.since) + " and this call") +
              ". Dump inputs, too\n";
    }
    std::string inside;
    for (const std::string& call : beginning.inside)
      inside += (inside.empty() ? "    inside " : ", ") + printable_name(call);
    if (!inside.empty()) text += inside + "\n";
  }
  return text;
}

std::string unmatched_of(const Compared& compared, bool with_all) {
  const Differences& differences = compared.differences;
  return unmatched(compared.a.record, differences.only_a, "A", with_all) +
         unmatched(compared.b.record, differences.only_b, "B", with_all);
}

std::string summary_of(const Compared& compared) {
  const Record& a = compared.a.record;
  const Differences& differences = compared.differences;
  std::string text;
  text += counted_noun(compared.pair_count(), "tensor") + " compared, " + std::to_string(differences.different_count) +
          " differ, " + std::to_string(differences.only_a.size()) + " only in A, " +
          std::to_string(differences.only_b.size()) + " only in B";
  const auto differs = [](const Pair& pair) { return pair.judgement.verdict == Verdict::kDifferent; };
  if (compared.first && !compared.first->empty()) {
    text += "; the first operator to differ: " + place_of(compared, compared.first->front());
  } else if (const auto pair = std::ranges::find_if(differences.pairs, differs); pair != differences.pairs.end()) {
    text += "; the first that differs: " + place_of(a, a.rows()[pair->in_a]);
  }
  text += "\n";
  for (const auto& [side, counts] : {std::pair{"A", &differences.left_out_a}, {"B", &differences.left_out_b}}) {
    if (const std::string words = words_of(*counts); !words.empty())
      text += std::string("no difference, only in ") + side + ": " + words + "\n";
  }
  return text;
}

std::string text_of(const Answer& answer, bool with_all) {
  constexpr std::size_t kMostLines = 10;
  std::string text = answer.verdict.sentence + "\n";
  std::size_t lines = 1;
  for (const std::string& detail : answer.verdict.details) {
    text += "  " + detail + "\n";
    ++lines;
  }
  for (std::size_t i = 0; i < answer.notes.size(); ++i) {
    const bool is_last_line = lines + 1 == kMostLines && i + 1 < answer.notes.size();
    if (!with_all && (is_last_line || lines == kMostLines)) {
      return lines == kMostLines
                 ? text
                 : text + "note: and " + std::to_string(answer.notes.size() - i) + " more notes: --all\n";
    }
    text += "note: " + answer.notes[i] + "\n";
    ++lines;
  }
  return text;
}

std::string lists_of(const SearchedRun& searched) {
  const Record& record = searched.record;
  const Answer& answer = searched.answer;
  const Origin& lists = answer.lists;
  std::string text;
  const auto add = [&](const std::vector<Source>& sources, const char* what, bool with_past) {
    for (const Source& from : sources) {
      const RecordRow& row = record.rows()[from.row];
      text += what + ("  " + place_of(record, row)) + "  " + words_of(from.specials);
      if (from.guilty.op_name != record.texts()[row.name]) text += ", made by " + printable(from.guilty.op_name);
      text += "\n";
      if (!with_past) continue;
      for (const std::uint32_t index : from.inputs) {
        const RecordRow& input = record.rows()[index];
        text += "    input " + std::to_string(input.slot) + ": " + statistics_text(record.statistics(input)) + "\n";
      }
      std::string before;
      for (const std::uint32_t run : runs_before(record, from.run)) {
        before += (before.empty() ? "" : ", ") + printable_name(record.texts()[record.run(run).front().name]);
      }
      if (!before.empty()) text += "    after " + before + "\n";
    }
  };
  std::vector<std::pair<const std::vector<Source>*, const char*>> beginnings = {
      {&lists.entered, "came in"}, {&lists.producers, "produced"}, {&lists.unknown, "not known"}};
  const auto has_verdict = [&](const auto& beginning) {
    return !beginning.first->empty() && beginning.first->front().row == answer.verdict.row;
  };
  std::stable_partition(beginnings.begin(), beginnings.end(), has_verdict);
  for (const auto& [sources, what] : beginnings) add(*sources, what, true);
  add(lists.turned, "turned Inf into NaN", true);
  add(lists.propagators, "passed on", false);
  text += counted_noun(searched.row_count, "row") + ", " + std::to_string(lists.producers.size()) +
          " produced NaN or Inf, " + std::to_string(lists.propagators.size()) + " passed it on";
  return text + "\n";
}

}  // namespace tensorstat::cli
