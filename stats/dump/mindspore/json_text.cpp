#include "stats/dump/mindspore/json_text.hpp"

#include <algorithm>
#include <set>

#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLevels = 64, kMostDuplicates = 16;

// Walks the text without building anything: nlohmann's tree is built iteratively, but copying and
// printing a deep one recurses, and it forgets that a key came twice.
class Inspector : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    if (!level.seen.insert(name).second && duplicates.size() < kMostDuplicates) {
      std::string path;
      for (const Level& each : levels_) path += (path.empty() ? "" : ".") + shown(each.key, 80);
      duplicates.push_back(path);
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& what) override {
    fault_position = position;
    fault = what.what();
    fault.erase(0, fault.find("] ") + 2);  // "[json.exception.parse_error.101] "
    if (const auto colon = fault.find(": "); fault.starts_with("parse error")) {
      fault.erase(0, colon + 2);
    }
    // It quotes the text: a string that never ends is quoted whole, before what was expected.
    constexpr std::size_t kMostHead = 160, kMostTail = 80;
    const auto tail =
        fault.size() > kMostHead + kMostTail ? fault.substr(fault.size() - kMostTail) : "";
    fault = tail.empty() ? shown(fault, fault.size())
                         : shown(fault, kMostHead) + shown(tail, kMostTail);
    return false;
  }

  std::vector<std::string> duplicates;
  std::size_t fault_position = 0;
  std::string fault;

 private:
  struct Level {
    std::string key;
    std::set<std::string> seen;
  };

  bool enter() {
    levels_.emplace_back();
    if (levels_.size() <= kMostLevels) return true;
    fault = "more than 64 levels";
    return false;
  }
  bool leave() {
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
};

std::string place(std::string_view text, std::size_t position) {
  const auto before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto last = before.rfind('\n');
  const auto column = before.size() - (last == before.npos ? 0 : last + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<JsonDocument> parse_json(std::string_view text) {
  if (text.size() > kMostJsonBytes) return Error{Code::kUnreadable, "it is larger than 16 MiB"};
  Inspector inspector;
  if (!Json::sax_parse(text, &inspector)) {
    if (inspector.fault_position == 0) return Error{Code::kUnreadable, inspector.fault};
    return Error{Code::kUnreadable, place(text, inspector.fault_position) + ": " + inspector.fault};
  }
  // To nlohmann the text ends there, whatever follows.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    return Error{Code::kUnreadable, place(text, nul + 1) + ": a NUL byte"};
  }
  return JsonDocument{Json::parse(text), std::move(inspector.duplicates)};
}

std::string json_quoted(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string excerpt(const Json& value) {
  constexpr std::size_t kMost = 80;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
  return text;
}

}  // namespace tensorstat
