#include <cmath>
#include <nlohmann/json.hpp>

#include "stats/cli/report.hpp"
#include "stats/rows/coordinates.hpp"
#include "stats/rows/json_value.hpp"

namespace tensorstat::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

// Behind an index its coordinates, as "argmax at".
std::string text_of(const Statistics& statistics, const Shape& shape) {
  std::string text = "{";
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const std::string name(tensorstat::name(statistics.categories[i]));
    text.append(i == 0 ? "" : ",").append(Json(name).dump()).append(":").append(json_of(statistics.values[i]));
    if (kind(statistics.categories[i]) != ValueKind::kIndex) continue;
    const auto at = coordinates(statistics.values[i], shape);
    text.append(",").append(Json(name + " at").dump()).append(":").append((at ? Json(*at) : Json(nullptr)).dump());
  }
  return text + "}";
}

// One line. A path that is not UTF-8 gets U+FFFD for what is wrong in it.
std::string line_of(const Entry& entry, bool with_placement) {
  const Row& row = entry.row;
  Json placement = Json::object(), reasons = Json::object();
  for (const Decision& decision : entry.placement) {
    placement[std::string(name(decision.category))] = std::string(decision.engine);
    reasons[std::string(name(decision.category))] = std::string(decision.reason);
  }
  Json tensor = {{"path", entry.path}};
  if (entry.tensor) tensor["tensor"] = *entry.tensor;
  tensor.update(Json{
      {"op_type", row.identity.op_type},
      {"op_name", row.identity.op_name},
      {"task_id", row.identity.task_id},
      {"stream_id", row.identity.stream_id},
      {"timestamp", row.identity.timestamp_us},
      {"io", row.identity.io},
      {"slot", row.identity.slot},
      {"dtype", row.data_type},
      {"shape", row.shape},
      {"bytes", row.data_size_bytes},
      {"placement", std::move(placement)},
  });
  if (with_placement) {
    tensor["reasons"] = std::move(reasons);
    tensor["device_bytes"] = entry.device_bytes;
  }
  std::string line = tensor.dump(-1, ' ', false, Json::error_handler_t::replace);
  line.back() = ',';  // in place of the closing brace
  return line.append("\"stats\":").append(text_of(row.statistics, row.shape)).append("}");
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
