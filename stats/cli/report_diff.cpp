#include "stats/cli/report_diff.hpp"

#include <algorithm>
#include <cmath>

#include "stats/compare/comparison_json.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::size_t kMostUnmatched = 20;

// A tensor for a person, with rank and iteration.
std::string place_of(const Record& record, const Seen& row) {
  if (!record.texts()[row.file].empty()) return printable(label_of(record, row));
  return printable(record.texts()[row.op_type]) + " " + printable(record.texts()[row.name]) + " " + (row.is_input ? "input" : "output") + " " +
         std::to_string(row.slot) + " (rank " + std::to_string(row.rank) + ", iteration " +
         std::to_string(row.iteration) + ")";
}

std::string value_or_none(const Value& value) { return std::holds_alternative<std::monostate>(value) ? "none" : to_string(value); }

// The statistic that tells the two apart: "max 1.5 and 2.5".
std::string reason_of(const Compared& compared, const Pair& pair) {
  const Judgement& judgement = pair.judgement;
  std::string text = judgement.why;
  const auto a = compared.a.record.statistics(compared.a.record.rows()[pair.in_a]), b = compared.b.record.statistics(compared.b.record.rows()[pair.in_b]);
  if (const auto category = category_from(judgement.why)) {
    text += " " + value_or_none(*a.find(*category)) + " and " + value_or_none(*b.find(*category));
  }
  if (std::isfinite(judgement.difference) && judgement.difference > 0) {
    text += (text.empty() ? "at most " : ", at most ") + to_string(Value(judgement.difference)) + " apart";
  }
  return text;
}

std::string unmatched(const Record& record, const std::vector<std::uint32_t>& rows, const char* where) {
  std::string text;
  for (std::size_t i = 0; i < rows.size() && i < kMostUnmatched; ++i) {
    text += "only in " + std::string(where) + "  " + place_of(record, record.rows()[rows[i]]) + "\n";
  }
  if (rows.size() > kMostUnmatched) {
    text += "only in " + std::string(where) + "  " + std::to_string(rows.size() - kMostUnmatched) + " more\n";
  }
  return text;
}

std::string words_of(const Specials& specials) {
  std::string text;
  const auto add = [&](const std::optional<std::uint64_t>& count, const char* what) {
    if (count == 0u) return;
    text += (text.empty() ? "" : ", ") + (count ? std::to_string(*count) + " " : std::string()) + what;
  };
  add(specials.nan, "NaN");
  add(specials.inf, "Inf");
  return text;
}

std::string statistics_text(const StatisticsView& statistics) {
  std::string text;
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::string(name(statistics.categories[i])) + " " + value_or_none(statistics.values[i]);
  }
  return text;
}

}  // namespace

std::string text_of(const Compared& compared, bool with_all) {
  const Record &a = compared.a.record, &b = compared.b.record;
  const Differences& differences = compared.differences;
  std::string text;
  if (compared.first) {
    for (const Beginning& beginning : *compared.first) {
      text += (beginning.enters ? "enters here  " : "begins here  ") + place_of(a, a.rows()[beginning.in_a]) + "  adds " +
              to_string(Value(beginning.added)) + "\n";
    }
  } else {
    for (const Pair& pair : differences.pairs) {
      if (!with_all && pair.judgement.verdict != Verdict::kDifferent) continue;
      std::string verdict(name(pair.judgement.verdict));
      verdict.resize(9, ' ');
      text += verdict + "  " + place_of(a, a.rows()[pair.in_a]) + "  " + reason_of(compared, pair) + "\n";
    }
  }
  text += unmatched(a, differences.only_a, "A") + unmatched(b, differences.only_b, "B");
  text += std::to_string(differences.pairs.size()) + " tensors compared, " + std::to_string(differences.different_count) +
          " differ, " + std::to_string(differences.only_a.size()) + " only in A, " +
          std::to_string(differences.only_b.size()) + " only in B";
  const auto differs = [](const Pair& pair) { return pair.judgement.verdict == Verdict::kDifferent; };
  if (compared.first && !compared.first->empty()) {
    text += "; the first operator to differ: " + place_of(a, a.rows()[compared.first->front().in_a]);
  } else if (const auto at = std::ranges::find_if(differences.pairs, differs); at != differences.pairs.end()) {
    text += "; the first that differs: " + place_of(a, a.rows()[at->in_a]);
  }
  return text + "\n";
}

std::string text_of(const Record& record, const Origin& origin) {
  std::string text;
  const auto add = [&](const std::vector<Source>& sources, const char* what, bool with_past) {
    for (const Source& from : sources) {
      text += what + ("  " + place_of(record, record.rows()[from.row])) + "  " + words_of(from.specials) + "\n";
      if (!with_past) continue;
      for (const Seen& row : record.run(from.run)) {
        if (!row.is_input) continue;
        text += "    input " + std::to_string(row.slot) + ": " + statistics_text(record.statistics(row)) + "\n";
      }
      std::string before;
      for (const std::uint32_t run : runs_before(record, from.run)) {
        before += (before.empty() ? "" : ", ") + printable(record.texts()[record.run(run).front().name]);
      }
      if (!before.empty()) text += "    after " + before + "\n";
    }
  };
  add(origin.entered, "came in", true);
  add(origin.producers, "produced", true);
  add(origin.turned, "turned Inf into NaN", true);
  add(origin.propagators, "passed on", false);
  const std::uint32_t runs = record.run_count();
  text += std::to_string(runs) + " runs of operators, " + std::to_string(origin.producers.size()) +
          " produced NaN or Inf, " + std::to_string(origin.propagators.size()) + " passed it on";
  const Source* first = !origin.entered.empty() ? &origin.entered.front() : nullptr;
  if (!origin.producers.empty() && (first == nullptr || origin.producers.front().run < first->run)) {
    first = &origin.producers.front();
  }
  if (first != nullptr) text += "; it began at " + place_of(record, record.rows()[first->row]);
  return text + "\n";
}

}  // namespace tensorstat::cli
