// Parses JSON in a source file of its own: nlohmann's parser takes seconds to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tensorstat::test {

nlohmann::json parsed_json(const std::string& text);  // throws if the text is not JSON

// The keys in the text's order; discarded if the text is not JSON.
nlohmann::ordered_json parsed_in_order(const std::string& text);

}  // namespace tensorstat::test
