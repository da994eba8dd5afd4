#include "tests/support/json_text.hpp"

namespace tensorstat::test {

nlohmann::json parsed_json(const std::string& text) { return nlohmann::json::parse(text); }

nlohmann::ordered_json parsed_in_order(const std::string& text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

}  // namespace tensorstat::test
