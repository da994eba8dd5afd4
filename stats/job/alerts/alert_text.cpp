#include <cmath>
#include <tensorstat/alerts.hpp>

#include "stats/core/base/float_environment.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/json/json_writer.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/job/alerts/alert_line.hpp"

namespace tensorstat {

std::string to_sentence(const Alert& alert) {
  const FloatEnvironment ieee;
  std::string text = "step " + std::to_string(alert.step) + (alert.rank ? ", rank " + std::to_string(alert.rank) : "");
  text += ": " + alert.op_name + " " + alert.io + " " + std::to_string(alert.slot);
  if (!alert.file.empty()) {
    text += " (" + alert.file.substr(alert.file.rfind('/') + 1) + ":" + std::to_string(alert.line) + ")";
  }
  if (!alert.statistic.empty()) text += ": " + alert.statistic + " is " + to_string(alert.value);
  if (!alert.words.empty()) text += ": " + alert.words;
  text += ", condition " + alert.condition;
  if (alert.tensor_count > 1) {
    text += "; and " + std::to_string(alert.tensor_count - 1) +
            (alert.tensor_count == 2 ? " more tensor" : " more tensors");
  }
  if (!alert.folder.empty()) text += "; " + alert.folder;
  if (!alert.saved.empty()) {
    text +=
        ", with " + std::to_string(alert.saved.size()) + (alert.saved.size() == 1 ? " saved tensor" : " saved tensors");
  }
  for (const std::string& each : alert.not_saved) text += "; " + each;
  return text;
}

Result<Alert> alert_from(std::string_view line) {
  const auto document = parse_json(line);
  if (!document) return document.error();
  const JsonValue root = document->root();
  if (!root.is(JsonValue::Kind::kObject)) return Error{Code::kUnreadable, "it is no object"};
  const auto text = [&](std::string_view key) {
    const auto value = root.find(key);
    return value && value->is(JsonValue::Kind::kString) ? std::string(value->text()) : std::string();
  };
  const auto natural = [&](std::string_view key) {
    const auto value = root.find(key);
    return value && value->is(JsonValue::Kind::kNatural) ? value->natural() : 0;
  };
  Alert alert;
  alert.step = natural("step");
  alert.rank = static_cast<std::uint32_t>(natural("rank"));
  alert.condition = text("condition");
  alert.op_type = text("op_type");
  alert.op_name = text("op_name");
  alert.io = text("io");
  alert.slot = natural("slot");
  alert.data_type = text("dtype");
  alert.statistic = text("statistic");
  alert.words = text("words");
  alert.folder = text("event");
  alert.file = text("file");
  alert.line = natural("line");
  alert.tensor_count = natural("tensors");
  const auto texts = [&](std::string_view key) {
    std::vector<std::string> strings;
    const auto list = root.find(key);
    if (!list || !list->is(JsonValue::Kind::kArray)) return strings;
    for (const JsonValue each : *list) strings.emplace_back(each.text());
    return strings;
  };
  alert.saved = texts("saved");
  alert.not_saved = texts("not_saved");
  if (const auto value = root.find("value")) {
    alert.value = value->text() == "nan" ? Value(std::nan("")) : number_from(value->text());
  }
  if (alert.condition.empty()) return Error{Code::kUnreadable, "it has no condition"};
  return alert;
}

std::string to_json(const Alert& alert) {
  const FloatEnvironment ieee;
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("step").number(alert.step).key("rank").number(alert.rank).key("condition").text(alert.condition);
  json.key("op_type").text(alert.op_type).key("op_name").text(alert.op_name).key("io").text(alert.io);
  json.key("slot").number(alert.slot).key("dtype").text(alert.data_type);
  json.key("shape").begin_list();
  for (const std::uint64_t dimension : alert.shape) json.number(dimension);
  json.end();
  json.key("statistic").text_or_null(alert.statistic).key("value").value(alert.value);
  json.key("words").text_or_null(alert.words);
  json.key("limit").value(alert.limit ? Value(*alert.limit) : Value());
  json.key("tensors").number(alert.tensor_count);
  json.key("steps").begin_list();
  for (const auto& [step, value] : alert.history) json.number(step);
  json.end().key("values").begin_list();
  for (const auto& [step, value] : alert.history) json.value(value);
  json.end().key("event").text_or_null(alert.folder).key("file").text_or_null(alert.file);
  json.key("line").number_or_null(alert.line == 0 ? std::nullopt : std::optional(alert.line));
  for (const auto& [key, list] : {std::pair("saved", &alert.saved), std::pair("not_saved", &alert.not_saved)}) {
    json.key(key).begin_list();
    for (const std::string& each : *list) json.text(each);
    json.end();
  }
  json.end();
  return text;
}

}  // namespace tensorstat
