#include "tests/support/config_text.hpp"

#include <nlohmann/json.hpp>

namespace tensorstat {

std::string config_text(const std::string& common, const std::string& e2e) {
  auto root = nlohmann::json::parse(R"({
    "common_dump_settings": {"dump_mode": 0, "path": "/absolute_path", "net_name": "ResNet50",
      "iteration": "all", "input_output": 0, "kernels": []},
    "e2e_dump_settings": {"enable": true}})");
  root["common_dump_settings"].merge_patch(nlohmann::json::parse(common));
  if (e2e == "null") {
    root.erase("e2e_dump_settings");
  } else {
    root["e2e_dump_settings"].merge_patch(nlohmann::json::parse(e2e));
  }
  return root.dump(2);
}

bool Parsed::said_once(const std::string& words) const {
  int times = 0;
  for (const auto& message : messages) times += message.find(words) != message.npos;
  return times == 1;
}

Parsed parsed(const std::string& text, const std::string& diagnostic_data_path) {
  Parsed parsed;
  Notices notices([&](Severity, std::string_view message) { parsed.messages.emplace_back(message); });
  auto config = parse_config(text, {diagnostic_data_path, ""}, notices);
  if (config) {
    parsed.config = *std::move(config);
  } else {
    parsed.error = config.error().message;
  }
  return parsed;
}

}  // namespace tensorstat
