#include <optional>
#include <string>
#include <variant>

#include "stats/answer/origin/operation_reasons.hpp"
#include "stats/answer/origin/sentence.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

std::string short_text(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return short_number(*real);
  return std::holds_alternative<std::monostate>(value) ? "none" : to_string(value);
}

}  // namespace

std::string shown_call(Form form, const NamedCall& call) {
  const std::string path(path_of(form, call.op_name));
  if (form == Form::kModules || path.empty()) return printable_name(call.op_name);
  return path == call.op_type ? printable_name(path) : printable_name(path) + " (" + printable_name(call.op_type) + ")";
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

std::string words_of_row(const Record& record, const RecordRow& row) {
  std::string text = printable_name(record.texts()[row.dtype]) + " " + printable_name(record.texts()[row.shape]);
  const auto statistics = record.statistics(row);
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const Value& value = statistics.values[i];
    const bool is_count = kind(statistics.categories[i]) == ValueKind::kCount;
    if (is_count && value == Value(std::uint64_t{0})) continue;  // a count of 0 is the usual case
    if (std::holds_alternative<Exponents>(value)) continue;      // a sentence has no room for a list
    text += ", " + std::string(name(statistics.categories[i])) + " " + short_text(value);
  }
  return text;
}

}  // namespace tensorstat
