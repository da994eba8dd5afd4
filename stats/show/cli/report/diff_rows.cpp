#include "stats/show/cli/report/diff_rows.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "stats/answer/compare/comparison_json.hpp"
#include "stats/data/rows/csv/csv_fields.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/show/cli/report/results.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::string_view kColumns[] = {"verdict",      "why",   "in a",        "in b",    "apart",         "cosine",
                                         "max abs diff", "at",    "relative l2", "max ulp", "outside count", "nan a",
                                         "nan b",        "inf a", "inf b",       "dtype",   "shape"};

Subject subject_of_pairs(std::string_view name) { return *subject_from(name, About::kPairs); }

// "(64,256)" as a shape.
Shape shape_from(std::string_view written) {
  Shape shape;
  std::uint64_t size = 0;
  bool has_digits = false;
  for (const char c : written) {
    if (c >= '0' && c <= '9') {
      size = size * 10 + static_cast<std::uint64_t>(c - '0');
      has_digits = true;
    } else if (std::exchange(has_digits, false)) {
      shape.push_back(std::exchange(size, 0));
    }
  }
  return shape;
}

// All that the choice names.
std::vector<Subject> subjects_of(const PairChoice& choice) {
  std::vector<Subject> subjects = choice.columns;
  if (choice.where) std::ranges::copy(choice.where->subjects(), std::back_inserter(subjects));
  if (choice.sort) subjects.push_back(choice.sort->subject);
  return subjects;
}

bool names_absmax(const PairChoice& choice) {
  return std::ranges::any_of(subjects_of(choice), [](const Subject& subject) {
    const auto* side = std::get_if<OfSide>(&subject);
    return side != nullptr && side->category == Category::kAbsmax;
  });
}

// Of one side, or of both. An index may be missing, because nothing is there.
bool is_statistic(const Subject& subject) {
  if (std::holds_alternative<OfSide>(subject)) return true;
  for (int i = 0; i < kPairStatisticCount; ++i) {
    const auto each = static_cast<PairStatistic>(i);
    if (kind(each) != PairValueKind::kIndex && name(each) == name_of(subject)) return true;
  }
  return false;
}

PairRow row_of(const Compared& compared, const Pair& pair, bool with_absmax) {
  const Record &a = compared.a.record, &b = compared.b.record;
  const RecordRow &in_a = a.rows()[pair.in_a], &in_b = b.rows()[pair.in_b];
  PairRow made{pair, {}, std::make_unique<PairedTensor>(), nullptr};
  SurveyedTensor& row = made.row;
  const std::string_view file = a.texts()[in_a.file], tensor = a.texts()[in_a.tensor];
  if (!tensor.empty()) row.tensor = std::string(tensor);
  const std::string execution = in_a.execution == Execution::kUnknown ? "" : std::string(name(in_a.execution)) + "/";
  row.path = file.empty() ? execution + label_of(a, in_a) : std::string(file);
  Identity& identity = row.row.identity;
  identity.op_type = a.texts()[in_a.op_type];
  identity.op_name = a.texts()[in_a.name];
  identity.io = in_a.is_input ? "input" : "output";
  identity.slot = in_a.slot;
  if (file.empty() || identity.op_type != "Tensor") {
    identity.set("rank", std::uint64_t{in_a.rank});
    identity.set("iteration", in_a.iteration);
  }
  row.row.data_type = a.texts()[in_a.dtype];
  row.row.shape = shape_from(a.texts()[in_a.shape]);
  row.row.statistics = Statistics(a.statistics(in_a));
  PairedTensor& other = *made.other;
  other.statistics = b.statistics(in_b);
  if (with_absmax) {
    add_absmax(row.row.statistics);
    made.of_b = std::make_unique<Statistics>(b.statistics(in_b));
    add_absmax(*made.of_b);
    other.statistics = *made.of_b;
  }
  other.label = label_of(b, in_b);
  other.data_type = b.texts()[in_b.dtype];
  other.verdict = name(pair.judgement.verdict);
  other.apart = pair.judgement.difference;
  other.by_parts = row.row.data_type.starts_with("complex");
  if (auto elements = element_values(compared.elements, a, b, pair)) {
    made.elements = std::make_unique<ElementValues>(*std::move(elements));
    other.elements = *made.elements;
    if (const auto greatest = compared.elements.greatest.find(pair.in_a);
        greatest != compared.elements.greatest.end()) {
      other.greatest_a = greatest->second[0];
      other.greatest_b = greatest->second[1];
    }
  } else {
    other.why = pair.judgement.why;  // of elements the columns say it
  }
  row.paired = made.other.get();
  return made;
}

// How much two tensors differ as a whole, or else their statistics.
double difference_of(const PairRow& row) {
  if (row.other->elements.empty()) return row.other->apart;
  const Value& value = row.other->elements[static_cast<std::size_t>(PairStatistic::kRelativeL2)];
  const auto* real = std::get_if<double>(&value);
  return real ? *real : 0;
}

bool has_value(const FactValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return !text->empty();
  return std::get<Value>(value) != Value();
}

TableColumns columns_for(const std::vector<PairRow>& rows, const PairChoice& choice) {
  TableColumns columns;
  const auto first_is_all = [&](const auto& fact) {
    return std::ranges::all_of(rows, [&](const PairRow& row) { return fact(row) == fact(rows.front()); });
  };
  const bool is_one_verdict = first_is_all([](const PairRow& row) { return row.other->verdict; });
  const bool have_elements = std::ranges::all_of(rows, [](const PairRow& row) { return !row.other->elements.empty(); });
  if (choice.where) columns.named = choice.where->subjects();
  if (choice.sort) columns.named.push_back(choice.sort->subject);
  columns.shown = choice.columns;
  if (choice.columns.empty()) {
    for (const std::string_view each : kColumns) {
      const Subject subject = subject_of_pairs(each);
      if ((each == "verdict" && is_one_verdict) || (each == "apart" && have_elements)) continue;
      const bool is_there =
          std::ranges::any_of(rows, [&](const PairRow& row) { return has_value(value_of(row.row, subject)); });
      if (is_there) columns.shown.push_back(subject);
    }
    for (const Subject& named : columns.named) {
      constexpr std::string_view kInEachTable[] = {"a", "path", "tensor", "rank", "step", "iteration", "verdict"};
      if (std::ranges::count(columns.shown, named) == 0 && !is_word(named) &&
          std::ranges::count(kInEachTable, name_of(named)) == 0) {
        columns.shown.push_back(named);
      }
    }
  }
  columns.named.insert(columns.named.end(), choice.columns.begin(), choice.columns.end());
  columns.are_default = choice.columns.empty();
  if (choice.is_all) columns.digits = kAllDigits;
  return columns;
}

}  // namespace

std::vector<PairRow> chosen_pairs(const Compared& compared, const PairChoice& choice, std::uint64_t& left) {
  std::vector<PairRow> rows;
  const bool with_absmax = names_absmax(choice);
  for (const Pair& pair : compared.differences.pairs) {
    const bool is_different = pair.judgement.verdict == Verdict::kDifferent;
    if (!choice.is_all && !choice.where && !is_different) continue;
    PairRow row = row_of(compared, pair, with_absmax);
    if (!choice.where || choice.where->is_met_by(row.row)) rows.push_back(std::move(row));
  }
  if (choice.sort) {
    std::ranges::stable_sort(
        rows, [&](const PairRow& a, const PairRow& b) { return comes_before(a.row, b.row, *choice.sort); });
  } else if (!choice.is_all) {
    std::ranges::stable_sort(rows, std::greater(), difference_of);
  }
  left = 0;
  if (choice.top && rows.size() > *choice.top) {
    left = rows.size() - *choice.top;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(*choice.top), rows.end());
  }
  return rows;
}

std::vector<std::string> lacking_statistics(const Compared& compared, const PairChoice& choice) {
  std::vector<Subject> lacking;
  for (const Subject& subject : subjects_of(choice)) {
    if (is_statistic(subject) && std::ranges::count(lacking, subject) == 0) lacking.push_back(subject);
  }
  const bool with_absmax = names_absmax(choice);
  for (const Pair& pair : compared.differences.pairs) {
    if (lacking.empty()) break;
    const PairRow row = row_of(compared, pair, with_absmax);
    std::erase_if(lacking, [&](const Subject& subject) { return has_value(value_of(row.row, subject)); });
  }
  std::vector<std::string> names;
  if (compared.differences.pairs.empty()) return names;
  for (const Subject& subject : lacking) names.push_back(name_of(subject));
  return names;
}

std::string table_of(const std::vector<PairRow>& rows, const PairChoice& choice, bool is_markdown, const Look& look) {
  if (rows.empty()) return "";
  const TableColumns columns = columns_for(rows, choice);
  const auto report = is_markdown ? make_markdown(columns) : make_table(columns, false, look);
  std::string text = report->begin();
  for (const PairRow& row : rows) text += report->add(row.row);
  return text + report->end();
}

std::string csv_of(const std::vector<PairRow>& rows, const PairChoice& choice) {
  std::vector<Subject> columns;
  for (const char* each : {"a", "b", "verdict", "rank", "step"}) columns.push_back(subject_of_pairs(each));
  std::vector<Subject> more = choice.columns;
  if (more.empty()) {
    for (const std::string_view each : kColumns) more.push_back(subject_of_pairs(each));
  }
  for (const Subject& each : more) {
    if (std::ranges::count(columns, each) == 0) columns.push_back(each);
  }
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) text += ',';
    append_field(text, name_of(columns[i]));
  }
  text += '\n';
  for (const PairRow& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      const std::string cell = text_of(row.row, columns[i]);
      append_field(text, (is_text(columns[i]) && wants_apostrophe(cell) ? "'" : "") + cell);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tensorstat::cli
