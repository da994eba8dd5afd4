#include "stats/json/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "stats/base/printable.hpp"

namespace tensorstat {
using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostLevels = 64, kMostDuplicates = 16, kMostExcerpt = 80;

}  // namespace

// Takes the text apart as nlohmann's parser reads it.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  using Kind = JsonDocument::Kind;

  bool null() override { return add(Kind::kNull, "null"); }
  bool boolean(bool truth) override { return add(Kind::kBoolean, truth ? "true" : "false"); }
  bool number_integer(number_integer_t number) override { return add(Kind::kNumber, std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override { return add(Kind::kNatural, std::to_string(number)); }
  bool number_float(number_float_t, const string_t& text) override { return add(Kind::kNumber, text); }
  bool string(string_t& text) override { return add(Kind::kString, text); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return enter(Kind::kObject); }
  bool start_array(std::size_t) override { return enter(Kind::kArray); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    std::vector<std::string>& duplicates = document.duplicates_;
    if (!level.seen.insert(name).second && duplicates.size() < kMostDuplicates) {
      std::string path;
      for (const Level& each : levels_) path += (path.empty() ? "" : ".") + shown(each.key, 80);
      duplicates.push_back(path);
    }
    return add(Kind::kString, name);
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

  JsonDocument document;
  std::size_t fault_position = 0;
  std::string fault;

 private:
  struct Level {
    std::uint32_t node = 0;
    std::string key = {};
    std::set<std::string> seen = {};
  };

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(document.nodes_.size()); }

  bool add(Kind kind, std::string_view text) {
    document.nodes_.push_back({.kind = kind,
                               .end = node_count() + 1,
                               .text_begin = static_cast<std::uint32_t>(document.texts_.size()),
                               .text_size = static_cast<std::uint32_t>(text.size())});
    document.texts_ += text;
    return true;
  }
  bool enter(Kind kind) {
    levels_.push_back({.node = node_count()});
    if (levels_.size() <= kMostLevels) return add(kind, "");
    fault = "more than 64 levels";
    return false;
  }
  bool leave() {
    document.nodes_[levels_.back().node].end = node_count();
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
};

namespace {

std::string place(std::string_view text, std::size_t position) {
  const auto before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto last = before.rfind('\n');
  const auto column = before.size() - (last == before.npos ? 0 : last + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Whether what is at `position`, counted from 1, closes a list or an object behind a comma.
bool is_behind_comma(std::string_view text, std::size_t position) {
  if (position == 0 || position > text.size() || (text[position - 1] != '}' && text[position - 1] != ']')) return false;
  const auto last = text.substr(0, position - 1).find_last_not_of(" \t\r\n");
  return last != text.npos && text[last] == ',';
}

std::string quoted(std::string_view text, bool ascii) {
  return Json(std::string(text)).dump(-1, ' ', ascii, Json::error_handler_t::replace);
}

// Adds the value to `text`, or as much of it as an excerpt has room for.
void write(const JsonValue& value, std::string& text) {
  const bool is_object = value.is(JsonValue::Kind::kObject);
  if (value.is(JsonValue::Kind::kString)) {
    text += quoted(value.text().substr(0, kMostExcerpt), true);
  } else if (!is_object && !value.is(JsonValue::Kind::kArray)) {
    text += value.text().substr(0, kMostExcerpt + 1);
  } else {
    text += is_object ? '{' : '[';
    std::size_t count = 0;
    for (auto each = value.begin(); each != value.end() && text.size() <= kMostExcerpt; ++each, ++count) {
      if (count != 0) text += is_object && count % 2 == 1 ? ':' : ',';
      write(*each, text);
    }
    text += is_object ? '}' : ']';
  }
}

std::string cut(std::string text) {
  if (text.size() > kMostExcerpt) text = text.substr(0, kMostExcerpt - 3) + "...";
  return text;
}

}  // namespace

JsonValue JsonDocument::root() const { return {*this, 0}; }

std::string_view JsonValue::text() const {
  return std::string_view(document_->texts_).substr(node().text_begin, node().text_size);
}

std::uint64_t JsonValue::natural() const {
  std::uint64_t number = 0;
  const std::string_view digits = text();
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::size_t JsonValue::size() const {
  std::size_t count = 0;
  for (auto each = begin(); each != end(); ++each) ++count;
  return count;
}

std::set<std::string_view> JsonValue::keys() const {
  std::set<std::string_view> keys;
  for (auto each = begin(); each != end(); ++each, ++each) keys.insert((*each).text());
  return keys;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  std::optional<JsonValue> found;
  for (auto each = begin(); each != end(); ++each) {
    const bool is_it = (*each).text() == key;
    ++each;
    if (is_it) found = *each;
  }
  return found;
}

Result<JsonDocument> parse_json(std::string_view text) {
  if (text.size() > kMostJsonBytes) return Error{Code::kUnreadable, "it is larger than 16 MiB"};
  JsonBuilder builder;
  if (!Json::sax_parse(text, &builder)) {
    if (builder.fault_position == 0) return Error{Code::kUnreadable, builder.fault};
    return Error{Code::kUnreadable,
                 place(text, builder.fault_position) + ": " + builder.fault +
                     (is_behind_comma(text, builder.fault_position) ? "; remove the comma before it" : "")};
  }
  // To nlohmann the text ends there, whatever follows.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    return Error{Code::kUnreadable, place(text, nul + 1) + ": a NUL byte"};
  }
  return std::move(builder.document);
}

std::string json_quoted(std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  return is_plain ? '"' + std::string(text) + '"' : quoted(text, false);
}

std::string excerpt(const JsonValue& value) {
  std::string text;
  write(value, text);
  return cut(std::move(text));
}

std::string excerpt(std::string_view text) { return cut(quoted(text.substr(0, kMostExcerpt), true)); }

}  // namespace tensorstat
