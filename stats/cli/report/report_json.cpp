#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "stats/cli/report/report.hpp"
#include "stats/json/json_text.hpp"
#include "stats/rows/coordinates.hpp"
#include "stats/json/json_value.hpp"

namespace tensorstat::cli {
namespace {

constexpr int kSchemaVersion = 1;

void append_list(std::string& text, const Shape& numbers) {
  text += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) text.append(i == 0 ? "" : ",").append(std::to_string(numbers[i]));
  text += ']';
}

// Appends a JSON object to a text. Keys must be printable and need no escapes.
class Object {
 public:
  explicit Object(std::string& text) : text_(text) { text_ += '{'; }
  void add_text(std::string_view key, std::string_view value) { add(key, json_quoted(value)); }
  void add_number(std::string_view key, std::uint64_t value) { add(key, std::to_string(value)); }
  void add_list(std::string_view key, const Shape& numbers) { append_list(at(key), numbers); }
  void add(std::string_view key, std::string_view json) { at(key) += json; }
  // Appends the key. The caller appends the value to the returned text.
  std::string& at(std::string_view key) {
    text_.append(std::exchange(is_first_, false) ? "\"" : ",\"").append(key) += "\":";
    return text_;
  }
  void end() { text_ += '}'; }

 private:
  std::string& text_;
  bool is_first_ = true;
};

// An index is followed by its coordinates, as "argmax at".
void append(std::string& text, const Statistics& statistics, const Shape& shape) {
  Object object(text);
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const std::string_view name = tensorstat::name(statistics.categories[i]);
    object.add(name, json_of(statistics.values[i]));
    if (kind(statistics.categories[i]) != ValueKind::kIndex) continue;
    const auto at = coordinates(statistics.values[i], shape);
    const std::string key = std::string(name) + " at";
    at ? object.add_list(key, *at) : object.add(key, "null");
  }
  object.end();
}

void append(std::string& text, std::span<const Decision> placement, std::string_view Decision::*what) {
  Object object(text);
  for (const Decision& decision : placement) object.add_text(name(decision.category), decision.*what);
  object.end();
}

// One line.
void append(std::string& text, const SurveyedTensor& entry, bool with_placement) {
  const Row& row = entry.row;
  text.reserve(text.size() + 400 + 64 * row.statistics.categories.size());
  Object tensor(text);
  tensor.add_text("path", entry.path);
  if (entry.tensor) tensor.add_text("tensor", *entry.tensor);
  if (entry.index) tensor.add_list("index", *entry.index);
  tensor.add_text("op_type", row.identity.op_type);
  tensor.add_text("op_name", row.identity.op_name);
  tensor.add_number("task_id", row.identity.task_id);
  tensor.add_number("stream_id", row.identity.stream_id);
  tensor.add_number("timestamp", row.identity.timestamp_us);
  tensor.add_text("io", row.identity.io);
  tensor.add_number("slot", row.identity.slot);
  tensor.add_text("dtype", row.data_type);
  tensor.add_list("shape", row.shape);
  tensor.add_number("bytes", row.data_size_bytes);
  if (const Cell* scale = row.identity.find("cast_scale")) tensor.add("cast_scale", std::get<std::string>(*scale));
  append(tensor.at("placement"), entry.placement, &Decision::engine);
  if (with_placement) {
    append(tensor.at("reasons"), entry.placement, &Decision::reason);
    tensor.add_number("device_bytes", entry.device_bytes);
  }
  append(tensor.at("stats"), row.statistics, row.shape);
  tensor.end();
}

class JsonReport : public Report {
 public:
  explicit JsonReport(bool with_placement) : with_placement_(with_placement) {}
  std::string begin() override {
    return "{\"schema_version\":" + std::to_string(kSchemaVersion) + ",\"tensors\":[";
  }
  std::string add(const SurveyedTensor& entry) override {
    std::string text = std::exchange(is_first_, false) ? "\n" : ",\n";
    append(text, entry, with_placement_);
    return text;
  }
  std::string end() override { return "\n]}\n"; }

 private:
  const bool with_placement_;
  bool is_first_ = true;
};

class NdjsonReport : public Report {
 public:
  explicit NdjsonReport(bool with_placement) : with_placement_(with_placement) {}
  std::string add(const SurveyedTensor& entry) override {
    std::string text;
    append(text, entry, with_placement_);
    return text += '\n';
  }

 private:
  const bool with_placement_;
};

}  // namespace

std::unique_ptr<Report> make_json(bool with_placement) {
  return std::make_unique<JsonReport>(with_placement);
}

std::unique_ptr<Report> make_ndjson(bool with_placement) {
  return std::make_unique<NdjsonReport>(with_placement);
}

}  // namespace tensorstat::cli
