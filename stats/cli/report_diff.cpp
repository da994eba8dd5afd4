#include "stats/cli/report_diff.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stats/cli/report.hpp"
#include "stats/files/shown.hpp"
#include "stats/files/tensor_reader.hpp"

namespace tensorstat::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBefore = 20, kMostUnmatched = 20;

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string io_of(const Seen& row) { return row.is_input ? "input" : "output"; }

// A tensor by its file, or by its operator.
std::string label_of(const Record& record, const Seen& row) {
  const std::string &file = record.texts()[row.file], &tensor = record.texts()[row.tensor];
  if (file.empty()) return record.texts()[row.name] + "." + io_of(row) + "." + std::to_string(row.slot);
  return tensor_label(file, tensor.empty() ? std::nullopt : std::optional(tensor));
}

// The same for a person, with rank and iteration.
std::string place_of(const Record& record, const Seen& row) {
  if (!record.texts()[row.file].empty()) return printable(label_of(record, row));
  return printable(record.texts()[row.op_type]) + " " + printable(record.texts()[row.name]) + " " + io_of(row) + " " +
         std::to_string(row.slot) + " (rank " + std::to_string(row.rank) + ", iteration " +
         std::to_string(row.iteration) + ")";
}

std::string identity_members(const Record& record, const Seen& row) {
  return "\"op_type\":" + quoted(record.texts()[row.op_type]) + ",\"op_name\":" + quoted(record.texts()[row.name]) +
         ",\"rank\":" + std::to_string(row.rank) + ",\"iteration\":" + std::to_string(row.iteration) + ",\"io\":\"" +
         io_of(row) + "\",\"slot\":" + std::to_string(row.slot);
}

std::string both_values(const StatisticsView& a, const StatisticsView& b) {
  std::string text;
  for (std::size_t i = 0; i < a.categories.size(); ++i) {
    const Value* other = b.find(a.categories[i]);
    if (other == nullptr) continue;
    text += (text.empty() ? "{" : ",") + quoted(std::string(name(a.categories[i]))) + ":{\"a\":" + json_of(a.values[i]) +
            ",\"b\":" + json_of(*other) + "}";
  }
  return text.empty() ? "{}" : text + "}";
}

template <typename Items, typename Text>
std::string array_of(const Items& items, const Text& text_of_item) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() == 1 ? "\n" : ",\n") + text_of_item(item);
  return text + "]";
}

std::string short_text(const Value& value) { return std::holds_alternative<std::monostate>(value) ? "none" : to_string(value); }

// The statistic that tells the two apart: "max 1.5 and 2.5".
std::string reason_of(const Diff& diff, const Pair& pair) {
  const Judgement& judgement = pair.judgement;
  std::string text = judgement.why;
  const auto a = diff.a.statistics(diff.a.rows()[pair.in_a]), b = diff.b.statistics(diff.b.rows()[pair.in_b]);
  if (const auto category = category_from(judgement.why)) {
    text += " " + short_text(*a.find(*category)) + " and " + short_text(*b.find(*category));
  }
  if (std::isfinite(judgement.difference) && judgement.difference > 0) {
    text += (text.empty() ? "at most " : ", at most ") + to_string(Value(judgement.difference)) + " apart";
  }
  return text;
}

std::string elements_member(const ElementFindings& elements, const Pair& pair) {
  const auto found = elements.find(pair.in_a);
  if (found == elements.end()) return {};
  const ElementDifferences& all = found->second;
  const auto index = [](const std::optional<std::uint64_t>& at) { return at ? std::to_string(*at) : "null"; };
  return ",\"elements\":{\"unequal\":" + std::to_string(all.unequal_count) + ",\"outside\":" +
         std::to_string(all.outside_count) + ",\"first unequal index\":" + index(all.first_unequal) +
         ",\"max abs diff\":" + json_of(Value(all.max_abs)) + ",\"max abs diff index\":" + index(all.max_abs_at) +
         ",\"max rel diff\":" + json_of(Value(all.max_rel)) + "}";
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

std::string specials_members(const Specials& specials) {
  const auto text = [](const std::optional<std::uint64_t>& count) { return count ? std::to_string(*count) : "null"; };
  return "\"nan\":" + text(specials.nan) + ",\"inf\":" + text(specials.inf);
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

// The last operators of the same rank before a run, the nearest last.
std::vector<std::uint32_t> runs_before(const Record& record, std::uint32_t run) {
  std::vector<std::uint32_t> runs;
  const std::uint32_t rank = record.run(run).front().rank;
  for (std::uint32_t at = run; at-- > 0 && runs.size() < kMostBefore;) {
    if (record.run(at).front().rank == rank) runs.push_back(at);
  }
  return {runs.rbegin(), runs.rend()};
}

std::string statistics_text(const StatisticsView& statistics) {
  std::string text;
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::string(name(statistics.categories[i])) + " " + short_text(statistics.values[i]);
  }
  return text;
}

}  // namespace

std::string json_of(const Diff& diff) {
  const auto& [a, b, differences, elements, first] = diff;
  const auto labels = [](const Record& record) {
    return [&record](std::uint32_t row) { return quoted(label_of(record, record.rows()[row])); };
  };
  std::string text = "{\"schema_version\":1,\"compared\":" + std::to_string(differences.pairs.size()) +
                     ",\"different\":" + std::to_string(differences.different_count) +
                     ",\"unmatched_a\":" + array_of(differences.only_a, labels(a)) +
                     ",\"unmatched_b\":" + array_of(differences.only_b, labels(b)) + ",\"pairs\":";
  text += array_of(differences.pairs, [&](const Pair& pair) {
    const Seen &in_a = a.rows()[pair.in_a], &in_b = b.rows()[pair.in_b];
    return "{\"a\":" + quoted(label_of(a, in_a)) + ",\"b\":" + quoted(label_of(b, in_b)) + ",\"verdict\":\"" +
           std::string(name(pair.judgement.verdict)) + "\",\"why\":" + quoted(pair.judgement.why) + "," +
           identity_members(a, in_a) + ",\"stats\":" + both_values(a.statistics(in_a), b.statistics(in_b)) +
           elements_member(elements, pair) + "}";
  });
  if (first != nullptr) {
    text += ",\"first\":" + array_of(*first, [&](const Beginning& beginning) {
      return "{" + identity_members(a, a.rows()[beginning.in_a]) + ",\"added\":" + json_of(Value(beginning.added)) +
             ",\"enters\":" + (beginning.enters ? "true" : "false") + "}";
    });
  }
  return text + "}\n";
}

std::string text_of(const Diff& diff, bool with_all) {
  const auto& [a, b, differences, elements, first] = diff;
  std::string text;
  if (first != nullptr) {
    for (const Beginning& beginning : *first) {
      text += (beginning.enters ? "enters here  " : "begins here  ") + place_of(a, a.rows()[beginning.in_a]) + "  adds " +
              to_string(Value(beginning.added)) + "\n";
    }
  } else {
    for (const Pair& pair : differences.pairs) {
      if (!with_all && pair.judgement.verdict != Verdict::kDifferent) continue;
      std::string verdict(name(pair.judgement.verdict));
      verdict.resize(9, ' ');
      text += verdict + "  " + place_of(a, a.rows()[pair.in_a]) + "  " + reason_of(diff, pair) + "\n";
    }
  }
  text += unmatched(a, differences.only_a, "A") + unmatched(b, differences.only_b, "B");
  text += std::to_string(differences.pairs.size()) + " tensors compared, " + std::to_string(differences.different_count) +
          " differ, " + std::to_string(differences.only_a.size()) + " only in A, " +
          std::to_string(differences.only_b.size()) + " only in B";
  const auto differs = [](const Pair& pair) { return pair.judgement.verdict == Verdict::kDifferent; };
  if (first != nullptr && !first->empty()) {
    text += "; the first operator to differ: " + place_of(a, a.rows()[first->front().in_a]);
  } else if (const auto at = std::ranges::find_if(differences.pairs, differs); at != differences.pairs.end()) {
    text += "; the first that differs: " + place_of(a, a.rows()[at->in_a]);
  }
  return text + "\n";
}

std::string json_of(const Record& record, const Origin& origin) {
  const auto source = [&](const Source& from, bool with_past) {
    std::string text = "{" + identity_members(record, record.rows()[from.row]) + "," + specials_members(from.specials);
    if (with_past) {
      std::vector<Seen> inputs;
      for (const Seen& row : record.run(from.run)) {
        if (row.is_input) inputs.push_back(row);
      }
      text += ",\"before\":" + array_of(runs_before(record, from.run), [&](std::uint32_t run) {
        return quoted(record.texts()[record.run(run).front().name]);
      });
      text += ",\"inputs\":" + array_of(inputs, [&](const Seen& row) {
        const auto values = record.statistics(row);
        std::string stats;
        for (std::size_t i = 0; i < values.categories.size(); ++i) {
          stats += (i == 0 ? "" : ",") + quoted(std::string(name(values.categories[i]))) + ":" + json_of(values.values[i]);
        }
        return "{\"slot\":" + std::to_string(row.slot) + ",\"stats\":{" + stats + "}}";
      });
    }
    return text + "}";
  };
  const auto with_past = [&](const Source& from) { return source(from, true); };
  const auto alone = [&](const Source& from) { return source(from, false); };
  return "{\"schema_version\":1,\"producers\":" + array_of(origin.producers, with_past) +
         ",\"entered\":" + array_of(origin.entered, with_past) +
         ",\"propagators\":" + array_of(origin.propagators, alone) + "}\n";
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
