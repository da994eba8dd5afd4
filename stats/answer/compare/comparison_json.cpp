#include "stats/answer/compare/comparison_json.hpp"

#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/json/json_writer.hpp"

namespace tensorstat {
namespace {

std::string io_of(const RecordRow& row) { return row.is_input ? "input" : "output"; }

void append_identity(JsonWriter& json, const RecordRow& row, std::string_view op_type, std::string_view op_name) {
  json.key("op_type").text(op_type).key("op_name").text(op_name);
  json.key("rank").number(row.rank).key("iteration").number(row.iteration);
  json.key("io").text(io_of(row)).key("slot").number(row.slot);
  if (row.execution != Execution::kUnknown) json.key("execution").text(name(row.execution));
}

void append_identity(JsonWriter& json, const Record& record, const RecordRow& row) {
  append_identity(json, row, record.texts()[row.op_type], record.texts()[row.name]);
}

void append_values(JsonWriter& json, const StatisticsView& values) {
  json.begin_object();
  for (std::size_t i = 0; i < values.categories.size(); ++i)
    json.key(name(values.categories[i])).value(values.values[i]);
  json.end();
}

void append_both(JsonWriter& json, const StatisticsView& a, const StatisticsView& b) {
  json.begin_object();
  for (std::size_t i = 0; i < a.categories.size(); ++i) {
    const Value* other = b.find(a.categories[i]);
    if (other == nullptr) continue;
    json.key(name(a.categories[i])).begin_object().key("a").value(a.values[i]).key("b").value(*other).end();
  }
  json.end();
}

// Each item on a line.
template <typename Items, typename Append>
void append_lines(JsonWriter& json, std::string_view key, const Items& items, const Append& append) {
  json.key(key).begin_lines();
  for (const auto& item : items) append(item);
  json.end();
}

void append_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  append_lines(json, key, texts, [&](const std::string& text) { json.text(text); });
}

void append_elements(JsonWriter& json, const Compared& compared, const Pair& pair) {
  const auto values = element_values(compared.elements, compared.a.record, compared.b.record, pair);
  if (!values) return;
  json.key("elements").begin_object();
  for (int i = 0; i < kPairStatisticCount; ++i) {
    const auto statistic = static_cast<PairStatistic>(i);
    // These two have had names without "count" since before there was a list.
    const std::string_view key = statistic == PairStatistic::kUnequalCount   ? "unequal"
                                 : statistic == PairStatistic::kOutsideCount ? "outside"
                                                                             : name(statistic);
    json.key(key).value((*values)[static_cast<std::size_t>(i)]);
  }
  if (const auto entry = compared.elements.greatest.find(pair.in_a); entry != compared.elements.greatest.end()) {
    json.key("in a").value(entry->second[0]).key("in b").value(entry->second[1]);
  }
  json.end();
}

void append_pair(JsonWriter& json, const Compared& compared, const Pair& pair) {
  const Record &a = compared.a.record, &b = compared.b.record;
  const RecordRow &in_a = a.rows()[pair.in_a], &in_b = b.rows()[pair.in_b];
  json.begin_object().key("a").text(label_of(a, in_a)).key("b").text(label_of(b, in_b));
  json.key("verdict").text(name(pair.judgement.verdict)).key("why").text(pair.judgement.why);
  append_identity(json, a, in_a);
  append_both(json.key("stats"), a.statistics(in_a), b.statistics(in_b));
  append_elements(json, compared, pair);
  json.end();
}

void append_code(JsonWriter& json, const std::optional<CodeLine>& code) {
  json.key("file").text_or_null(code ? code->file : "").key("line");
  code && code->line != 0 ? json.number(code->line) : json.null();
}

void append_verdict(JsonWriter& json, const Record& record, const FaultVerdict& verdict) {
  json.begin_object().key("kind").text(name(verdict.kind));
  json.key("certainty").text_or_null(certainty_of(verdict));
  if (verdict.kind == FaultKind::kNone) {
    for (const char* key : {"op_type", "op_name", "phase", "rank", "iteration", "io", "slot", "last_clean_iteration",
                            "file", "line", "operation"}) {
      json.key(key).null();
    }
    json.key("inside").begin_list().end();
  } else {
    const RecordRow& row = record.rows()[verdict.row];
    json.key("op_type").text(verdict.guilty.op_type).key("op_name").text(verdict.guilty.op_name);
    json.key("phase").text(name(verdict.phase)).key("rank").number(verdict.rank);
    json.key("iteration").number(verdict.iteration).key("io").text(io_of(row)).key("slot").number(row.slot);
    json.key("last_clean_iteration").number_or_null(verdict.last_clean_iteration);
    if (const auto named = verdict.tensor_names.find(verdict.row); named != verdict.tensor_names.end())
      json.key("tensor").text(named->second);
    if (verdict.faulty_rows) {
      json.key("rows").begin_list();
      for (const std::uint32_t each : verdict.faulty_rows->rows) json.number(each);
      json.end()
          .key("row_count")
          .number(verdict.faulty_rows->count)
          .key("row_whole")
          .number(verdict.faulty_rows->whole);
    }
    append_code(json, verdict.code);
    json.key("operation").text_or_null(verdict.operation);
    append_lines(json, "inside", verdict.inside, [&](const NamedCall& call) { json.text(call.op_name); });
    if (verdict.is_evaluation) json.key("evaluation").truth(true);
    if (verdict.call_count > 1) json.key("call").number(verdict.nth_call).key("calls").number(verdict.call_count);
  }
  append_texts(json, "not_watched", verdict.not_watched);
  json.key("sentence").text(verdict.sentence);
  append_texts(json, "details", verdict.details);
  json.end();
}

void append_specials(JsonWriter& json, const Specials& specials) {
  json.key("nan").number_or_null(specials.nan).key("inf").number_or_null(specials.inf);
}

}  // namespace

std::string label_of(const Record& record, const RecordRow& row) {
  const std::string_view file = record.texts()[row.file], tensor = record.texts()[row.tensor];
  if (file.empty()) return std::string(record.texts()[row.name]) + "." + io_of(row) + "." + std::to_string(row.slot);
  return tensor_label(file, tensor.empty() ? std::nullopt : std::optional(std::string(tensor)));
}

std::string json_lines_of(const Compared& compared, std::span<const Pair> shown) {
  std::string text;
  for (const Pair& pair : shown) {
    JsonWriter json(text);
    append_pair(json, compared, pair);
    text += '\n';
  }
  return text;
}

std::string json_of(const Compared& compared, std::optional<std::span<const Pair>> shown) {
  const Record &a = compared.a.record, &b = compared.b.record;
  const Differences& differences = compared.differences;
  std::string text;
  JsonWriter json(text);
  const auto append_labels = [&](std::string_view key, const Record& record, const auto& rows) {
    append_lines(json, key, rows, [&](std::uint32_t row) { json.text(label_of(record, record.rows()[row])); });
  };
  json.begin_object().key("schema_version").number(1).key("compared").number(differences.pairs.size());
  json.key("different").number(differences.different_count);
  if (!compared.paired_by.empty()) json.key("paired_by").text(compared.paired_by);
  append_labels("unmatched_a", a, differences.only_a);
  append_labels("unmatched_b", b, differences.only_b);
  json.key("left_out").begin_object();
  for (const auto& [side, counts] : {std::pair{"a", &differences.left_out_a}, {"b", &differences.left_out_b}}) {
    json.key(side).begin_object();
    for (int i = 0; i < kLeftOutCount; ++i) {
      if (const std::uint64_t count = (*counts)[static_cast<std::size_t>(i)]; count != 0)
        json.key(name(static_cast<LeftOut>(i))).number(count);
    }
    json.end();
  }
  json.end();
  append_lines(json, "pairs", shown.value_or(differences.pairs),
               [&](const Pair& pair) { append_pair(json, compared, pair); });
  if (compared.first) {
    append_lines(json, "first", *compared.first, [&](const Beginning& beginning) {
      beginning.in_b ? append_identity(json.begin_object(), b, b.rows()[*beginning.in_b])
                     : append_identity(json.begin_object(), a, a.rows()[beginning.in_a]);
      json.key("added").value(Value(beginning.added)).key("enters").truth(beginning.enters);
      json.key("phase").text(name(beginning.phase));
      append_texts(json, "inside", beginning.inside);
      append_code(json, beginning.code);
      if (beginning.since) json.key("since").text(*beginning.since);
      if (beginning.in_b) json.key("only_in").text("b");
      json.end();
    });
  }
  json.end();
  return text + "\n";
}

std::string json_of(const Record& record, const Answer& answer) {
  const Origin& lists = answer.lists;
  std::string text;
  JsonWriter json(text);
  const auto append_source = [&](const Source& from, bool with_past) {
    append_identity(json.begin_object(), record.rows()[from.row], from.guilty.op_type, from.guilty.op_name);
    append_specials(json, from.specials);
    if (with_past) {
      append_lines(json, "before", runs_before(record, from.run),
                   [&](std::uint32_t run) { json.text(record.texts()[record.run(run).front().name]); });
      json.key("inputs").begin_lines();
      for (const std::uint32_t input : from.inputs) {
        const RecordRow& row = record.rows()[input];
        append_values(json.begin_object().key("slot").number(row.slot).key("stats"), record.statistics(row));
        json.end();
      }
      json.end();
    }
    json.end();
  };
  const auto with_past = [&](const Source& from) { append_source(from, true); };
  const auto alone = [&](const Source& from) { append_source(from, false); };
  append_verdict(json.begin_object().key("schema_version").number(1).key("verdict"), record, answer.verdict);
  append_texts(json, "notes", answer.notes);
  append_lines(json, "producers", lists.producers, with_past);
  append_lines(json, "entered", lists.entered, with_past);
  append_lines(json, "unknown", lists.unknown, with_past);
  append_lines(json, "turned", lists.turned, with_past);
  append_lines(json, "propagators", lists.propagators, alone);
  json.end();
  return text + "\n";
}

}  // namespace tensorstat
