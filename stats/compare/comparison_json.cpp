#include "stats/compare/comparison_json.hpp"

#include "stats/json/json_text.hpp"
#include "stats/files/tensor_reader.hpp"
#include "stats/json/json_value.hpp"

namespace tensorstat {
namespace {

std::string io_of(const Seen& row) { return row.is_input ? "input" : "output"; }

std::string identity_members(const Seen& row, const NamedCall& who) {
  return "\"op_type\":" + json_quoted(who.op_type) + ",\"op_name\":" + json_quoted(who.op_name) +
         ",\"rank\":" + std::to_string(row.rank) + ",\"iteration\":" + std::to_string(row.iteration) + ",\"io\":\"" +
         io_of(row) + "\",\"slot\":" + std::to_string(row.slot) +
         (row.execution == Execution::kUnknown ? "" : ",\"execution\":\"" + std::string(name(row.execution)) + "\"");
}

std::string identity_members(const Record& record, const Seen& row) {
  return identity_members(row, {std::string(record.texts()[row.op_type]), std::string(record.texts()[row.name])});
}

std::string both_values(const StatisticsView& a, const StatisticsView& b) {
  std::string text;
  for (std::size_t i = 0; i < a.categories.size(); ++i) {
    const Value* other = b.find(a.categories[i]);
    if (other == nullptr) continue;
    text += (text.empty() ? "{" : ",") + json_quoted(std::string(name(a.categories[i]))) + ":{\"a\":" + json_of(a.values[i]) +
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

std::string elements_member(const ElementFindings& elements, const Pair& pair) {
  const auto found = elements.find(pair.in_a);
  if (found == elements.end()) return {};
  std::string text;
  for (int i = 0; i < kPairStatisticCount; ++i) {
    const auto statistic = static_cast<PairStatistic>(i);
    // These two have had names without "count" since before there was a list.
    const std::string_view key = statistic == PairStatistic::kUnequalCount   ? "unequal"
                                 : statistic == PairStatistic::kOutsideCount ? "outside"
                                                                             : name(statistic);
    text += (text.empty() ? ",\"elements\":{" : ",") + json_quoted(std::string(key)) + ":" +
            json_of(found->second[static_cast<std::size_t>(i)]);
  }
  return text + "}";
}

std::string code_members(const std::optional<CodeLine>& code) {
  if (!code) return "\"file\":null,\"line\":null";
  return "\"file\":" + json_quoted(code->file) + ",\"line\":" + (code->line == 0 ? "null" : std::to_string(code->line));
}

std::string json_of_verdict(const Record& record, const FaultVerdict& verdict) {
  std::string text = "{\"kind\":" + json_quoted(std::string(name(verdict.kind)));
  const auto words = [](const std::string& each) { return json_quoted(each); };
  if (verdict.kind == FaultKind::kNone) {
    for (const char* key : {"op_type", "op_name", "phase", "rank", "iteration", "io", "slot", "last_clean_iteration", "file", "line", "operation"}) {
      text += ",\"" + std::string(key) + "\":null";
    }
    text += ",\"inside\":[]";
  } else {
    const Seen& row = record.rows()[verdict.row];
    text += ",\"op_type\":" + json_quoted(verdict.guilty.op_type) + ",\"op_name\":" + json_quoted(verdict.guilty.op_name) +
            ",\"phase\":" + json_quoted(std::string(name(verdict.phase))) + ",\"rank\":" + std::to_string(verdict.rank) +
            ",\"iteration\":" + std::to_string(verdict.iteration) + ",\"io\":\"" + io_of(row) + "\",\"slot\":" +
            std::to_string(row.slot) + ",\"last_clean_iteration\":" +
            (verdict.last_clean_iteration ? std::to_string(*verdict.last_clean_iteration) : "null") + "," +
            code_members(verdict.code) + ",\"operation\":" + (verdict.operation.empty() ? "null" : json_quoted(verdict.operation)) +
            ",\"inside\":" + array_of(verdict.inside, [](const NamedCall& call) { return json_quoted(call.op_name); });
  }
  return text + ",\"not_watched\":" + array_of(verdict.not_watched, words) + ",\"sentence\":" + json_quoted(verdict.sentence) + ",\"details\":" + array_of(verdict.details, words) + "}";
}

std::string specials_members(const Specials& specials) {
  const auto text = [](const std::optional<std::uint64_t>& count) { return count ? std::to_string(*count) : "null"; };
  return "\"nan\":" + text(specials.nan) + ",\"inf\":" + text(specials.inf);
}

}  // namespace

std::string label_of(const Record& record, const Seen& row) {
  const std::string_view file = record.texts()[row.file], tensor = record.texts()[row.tensor];
  if (file.empty()) return std::string(record.texts()[row.name]) + "." + io_of(row) + "." + std::to_string(row.slot);
  return tensor_label(file, tensor.empty() ? std::nullopt : std::optional(std::string(tensor)));
}

std::string json_of(const Compared& compared) {
  const Record &a = compared.a.record, &b = compared.b.record;
  const Differences& differences = compared.differences;
  const auto labels = [](const Record& record) {
    return [&record](std::uint32_t row) { return json_quoted(label_of(record, record.rows()[row])); };
  };
  std::string text = "{\"schema_version\":1,\"compared\":" + std::to_string(differences.pairs.size()) +
                     ",\"different\":" + std::to_string(differences.different_count) +
                     ",\"unmatched_a\":" + array_of(differences.only_a, labels(a)) +
                     ",\"unmatched_b\":" + array_of(differences.only_b, labels(b)) + ",\"pairs\":";
  text += array_of(differences.pairs, [&](const Pair& pair) {
    const Seen &in_a = a.rows()[pair.in_a], &in_b = b.rows()[pair.in_b];
    return "{\"a\":" + json_quoted(label_of(a, in_a)) + ",\"b\":" + json_quoted(label_of(b, in_b)) + ",\"verdict\":\"" +
           std::string(name(pair.judgement.verdict)) + "\",\"why\":" + json_quoted(pair.judgement.why) + "," +
           identity_members(a, in_a) + ",\"stats\":" + both_values(a.statistics(in_a), b.statistics(in_b)) +
           elements_member(compared.elements.found, pair) + "}";
  });
  if (compared.first) {
    text += ",\"first\":" + array_of(*compared.first, [&](const Beginning& beginning) {
      return "{" + identity_members(a, a.rows()[beginning.in_a]) + ",\"added\":" + json_of(Value(beginning.added)) +
             ",\"enters\":" + (beginning.enters ? "true" : "false") + ",\"phase\":" +
             json_quoted(std::string(name(beginning.phase))) + ",\"inside\":" +
             array_of(beginning.inside, [](const std::string& call) { return json_quoted(call); }) + "," +
             code_members(beginning.code) + "}";
    });
  }
  return text + "}\n";
}

std::string json_of(const Record& record, const Answer& answer) {
  const Origin& lists = answer.lists;
  const auto source = [&](const Source& from, bool with_past) {
    std::string text = "{" + identity_members(record.rows()[from.row], from.who) + "," + specials_members(from.specials);
    if (with_past) {
      text += ",\"before\":" + array_of(runs_before(record, from.run), [&](std::uint32_t run) {
        return json_quoted(record.texts()[record.run(run).front().name]);
      });
      text += ",\"inputs\":" + array_of(from.inputs, [&](std::uint32_t at) {
        const Seen& row = record.rows()[at];
        const auto values = record.statistics(row);
        std::string stats;
        for (std::size_t i = 0; i < values.categories.size(); ++i) {
          stats += (i == 0 ? "" : ",") + json_quoted(std::string(name(values.categories[i]))) + ":" + json_of(values.values[i]);
        }
        return "{\"slot\":" + std::to_string(row.slot) + ",\"stats\":{" + stats + "}}";
      });
    }
    return text + "}";
  };
  const auto with_past = [&](const Source& from) { return source(from, true); };
  const auto alone = [&](const Source& from) { return source(from, false); };
  const auto text = [](const std::string& words) { return json_quoted(words); };
  return "{\"schema_version\":1,\"verdict\":" + json_of_verdict(record, answer.verdict) + ",\"notes\":" +
         array_of(answer.notes, text) + ",\"producers\":" + array_of(lists.producers, with_past) +
         ",\"entered\":" + array_of(lists.entered, with_past) + ",\"unknown\":" + array_of(lists.unknown, with_past) + ",\"turned\":" + array_of(lists.turned, with_past) +
         ",\"propagators\":" + array_of(lists.propagators, alone) + "}\n";
}

}  // namespace tensorstat
