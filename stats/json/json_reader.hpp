// What the readers of a JSON text in pieces share: bare numbers, where a fault is, and how reading ends.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "stats/base/printable.hpp"
#include "stats/json/json_bytes.hpp"

namespace tensorstat {

class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Reads the whole text.
  Status read() {
    const bool is_parsed = nlohmann::json::sax_parse(JsonIterator(bytes_), JsonIterator(), this);
    if (!fault_) return fault_;
    if (!bytes_.fault()) return bytes_.fault();
    if (bytes_.is_too_long()) return failure("a text or a number longer than 16 MiB");
    if (!is_parsed) return failure(syntax_.empty() ? "it is no JSON" : syntax_);
    if (!bytes_.at_end()) return failure("a NUL byte");
    return {};
  }

  bool binary(binary_t&) override { return false; }  // JSON has none
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& what) override {
    syntax_ = what.what();
    // It says where in the text that the parser was given, and quotes that.
    if (const auto reason = syntax_.find("syntax error"); reason != syntax_.npos) syntax_.erase(0, reason);
    syntax_ = shown(syntax_, 160);
    return false;
  }

 protected:
  static constexpr std::size_t kMostLevels = 512;

  JsonReader(std::string where, JsonBytes& bytes) : where_(std::move(where)), bytes_(bytes) {}

  // Whether a text stands for a bare NaN, Infinity or -Infinity, and that number.
  static bool is_bare_number(std::string_view text) { return !text.empty() && text.front() == kNumberMark; }
  static double bare_number(std::string_view text) { return text[1] == 'N' ? NAN : text[1] == '-' ? -HUGE_VAL : HUGE_VAL; }

  Error failure(const std::string& what) const {
    return {Code::kUnreadable, where_ + ", " + bytes_.place() + ": " + what};
  }
  bool refuse(const std::string& what) {
    fault_ = failure(what);
    return false;
  }

  const std::string where_;
  JsonBytes& bytes_;
  Status fault_;

 private:
  std::string syntax_;
};

}  // namespace tensorstat
