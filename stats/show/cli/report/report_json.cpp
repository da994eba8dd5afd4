#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "stats/data/json/json_writer.hpp"
#include "stats/data/rows/coordinates.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/show/cli/report/report.hpp"

namespace tensorstat::cli {
namespace {

constexpr int kSchemaVersion = 1;

void append(JsonWriter& json, const Shape& numbers) {
  json.begin_list();
  for (const std::uint64_t number : numbers) json.number(number);
  json.end();
}

// An index is followed by its coordinates, as "argmax at".
void append(JsonWriter& json, const Statistics& statistics, const Shape& shape) {
  json.begin_object();
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const std::string_view name = tensorstat::name(statistics.categories[i]);
    json.key(name).value(statistics.values[i]);
    if (kind(statistics.categories[i]) != ValueKind::kIndex) continue;
    json.key(std::string(name) + " at");
    const auto element = coordinates(statistics.values[i], shape);
    element ? append(json, *element) : static_cast<void>(json.null());
  }
  json.end();
}

void append(JsonWriter& json, std::span<const Decision> placement, std::string_view Decision::*what) {
  json.begin_object();
  for (const Decision& decision : placement) json.key(name(decision.category)).text(decision.*what);
  json.end();
}

// One line.
void append(std::string& text, const SurveyedTensor& entry, bool with_placement) {
  const Row& row = entry.row;
  text.reserve(text.size() + 400 + 64 * row.statistics.categories.size());
  JsonWriter json(text);
  json.begin_object().key("path").text(entry.path);
  if (entry.tensor) json.key("tensor").text(*entry.tensor);
  if (entry.index) append(json.key("index"), *entry.index);
  json.key("op_type").text(row.identity.op_type).key("op_name").text(row.identity.op_name);
  json.key("task_id").number(row.identity.task_id).key("stream_id").number(row.identity.stream_id);
  json.key("timestamp").number(row.identity.timestamp_us);
  json.key("io").text(row.identity.io).key("slot").number(row.identity.slot);
  json.key("dtype").text(row.data_type);
  append(json.key("shape"), row.shape);
  json.key("bytes").number(row.data_size_bytes);
  if (const Cell* shard = row.identity.find("shard")) json.key("shard").text(std::get<std::string>(*shard));
  if (const Cell* scale = row.identity.find("cast_scale")) {
    // Rows may come from anywhere: a text that is not a number stays a text.
    const auto& text = std::get<std::string>(*scale);
    const Value number = number_from(text);
    json.key("cast_scale");
    std::holds_alternative<std::monostate>(number) ? json.text(text) : json.value(number);
  }
  append(json.key("placement"), entry.placement, &Decision::engine);
  if (with_placement) {
    append(json.key("reasons"), entry.placement, &Decision::reason);
    json.key("device_bytes").number(entry.device_bytes);
  }
  append(json.key("stats"), row.statistics, row.shape);
  json.end();
}

Survey::Line line_of(bool with_placement, std::string_view end) {
  return [=](const SurveyedTensor& entry) {
    std::string text;
    append(text, entry, with_placement);
    return text.append(end);
  };
}

}  // namespace

std::unique_ptr<Report> make_json(bool with_placement) {
  return make_lines(line_of(with_placement, ""),
                    {.begin = "{\"schema_version\":" + std::to_string(kSchemaVersion) + ",\"tensors\":[",
                     .before_first = "\n",
                     .before_next = ",\n",
                     .end = "\n]}\n"});
}

std::unique_ptr<Report> make_ndjson(bool with_placement) { return make_lines(line_of(with_placement, "\n"), {}); }

}  // namespace tensorstat::cli
