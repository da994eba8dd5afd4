#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "stats/cli/report.hpp"
#include "stats/dump/json_text.hpp"
#include "stats/rows/coordinates.hpp"
#include "stats/rows/json_value.hpp"

namespace tensorstat::cli {
namespace {

constexpr int kSchemaVersion = 1;

std::string list_of(const Shape& numbers) {
  std::string text = "[";
  for (const std::uint64_t number : numbers) text.append(text.size() == 1 ? "" : ",").append(std::to_string(number));
  return text + "]";
}

// An object of texts and of what is JSON already.
class Object {
 public:
  void add_text(std::string_view key, std::string_view value) { add(key, json_quoted(value)); }
  void add_number(std::string_view key, std::uint64_t value) { add(key, std::to_string(value)); }
  void add(std::string_view key, std::string_view json) {
    text_.append(text_.size() == 1 ? "" : ",").append(json_quoted(key)).append(":").append(json);
  }
  std::string text() && { return std::move(text_ += "}"); }

 private:
  std::string text_ = "{";
};

// Behind an index its coordinates, as "argmax at".
std::string text_of(const Statistics& statistics, const Shape& shape) {
  Object object;
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const std::string_view name = tensorstat::name(statistics.categories[i]);
    object.add(name, json_of(statistics.values[i]));
    if (kind(statistics.categories[i]) != ValueKind::kIndex) continue;
    const auto at = coordinates(statistics.values[i], shape);
    object.add(std::string(name) + " at", at ? list_of(*at) : "null");
  }
  return std::move(object).text();
}

// One line.
std::string line_of(const Entry& entry, bool with_placement) {
  const Row& row = entry.row;
  Object placement, reasons;
  for (const Decision& decision : entry.placement) {
    placement.add_text(name(decision.category), decision.engine);
    if (with_placement) reasons.add_text(name(decision.category), decision.reason);
  }
  Object tensor;
  tensor.add_text("path", entry.path);
  if (entry.tensor) tensor.add_text("tensor", *entry.tensor);
  if (entry.index) tensor.add("index", list_of(*entry.index));
  tensor.add_text("op_type", row.identity.op_type);
  tensor.add_text("op_name", row.identity.op_name);
  tensor.add_number("task_id", row.identity.task_id);
  tensor.add_number("stream_id", row.identity.stream_id);
  tensor.add_number("timestamp", row.identity.timestamp_us);
  tensor.add_text("io", row.identity.io);
  tensor.add_number("slot", row.identity.slot);
  tensor.add_text("dtype", row.data_type);
  tensor.add("shape", list_of(row.shape));
  tensor.add_number("bytes", row.data_size_bytes);
  tensor.add("placement", std::move(placement).text());
  if (with_placement) {
    tensor.add("reasons", std::move(reasons).text());
    tensor.add_number("device_bytes", entry.device_bytes);
  }
  tensor.add("stats", text_of(row.statistics, row.shape));
  return std::move(tensor).text();
}

class JsonReport : public Report {
 public:
  explicit JsonReport(bool with_placement) : with_placement_(with_placement) {}
  std::string begin() override {
    return "{\"schema_version\":" + std::to_string(kSchemaVersion) + ",\"tensors\":[";
  }
  std::string add(const Entry& entry) override {
    return (std::exchange(is_first_, false) ? "\n" : ",\n") + line_of(entry, with_placement_);
  }
  std::string end() override { return "\n]}\n"; }

 private:
  const bool with_placement_;
  bool is_first_ = true;
};

class NdjsonReport : public Report {
 public:
  explicit NdjsonReport(bool with_placement) : with_placement_(with_placement) {}
  std::string add(const Entry& entry) override { return line_of(entry, with_placement_) + "\n"; }

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
