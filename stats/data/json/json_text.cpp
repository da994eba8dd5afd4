#include "stats/data/json/json_text.hpp"

#include <charconv>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/json/json_reader.hpp"
#include "stats/data/json/json_writer.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostDuplicates = 16, kMostExcerpt = 80;

}  // namespace

// Makes a document of what the reader says.
class JsonBuilder : public JsonReader {
 public:
  using Kind = JsonDocument::Kind;

  JsonBuilder() : JsonReader({.most_levels = 64}) {}

  JsonDocument document;

 private:
  struct Level {
    std::uint32_t node = 0;
    std::string key = {};
    std::set<std::string> seen = {};
  };

  bool scalar(const JsonScalar& value, std::string_view written) override {
    constexpr Kind kKinds[] = {Kind::kNull, Kind::kBoolean, Kind::kNatural, Kind::kNumber, Kind::kNumber};
    return add(kKinds[value.index()], written);
  }
  bool string(std::string& text) override { return add(Kind::kString, text); }
  bool key(std::string& name) override {
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
  bool begin(bool is_list) override {
    levels_.push_back({.node = node_count()});
    return add(is_list ? Kind::kArray : Kind::kObject, "");
  }
  bool end() override {
    document.nodes_[levels_.back().node].end = node_count();
    levels_.pop_back();
    return true;
  }

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(document.nodes_.size()); }
  bool add(Kind kind, std::string_view text) {
    document.nodes_.push_back({.kind = kind,
                               .end = node_count() + 1,
                               .text_begin = static_cast<std::uint32_t>(document.texts_.size()),
                               .text_size = static_cast<std::uint32_t>(text.size())});
    document.texts_ += text;
    return true;
  }

  std::vector<Level> levels_;
};

namespace {

// Adds the value to `text`, or as much of it as an excerpt has room for.
void write(const JsonValue& value, std::string& text) {
  const bool is_object = value.is(JsonValue::Kind::kObject);
  if (value.is(JsonValue::Kind::kString)) {
    append_json_quoted(text, value.text().substr(0, kMostExcerpt), true);
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
  std::optional<JsonValue> value;
  for (auto each = begin(); each != end(); ++each) {
    const bool is_it = (*each).text() == key;
    ++each;
    if (is_it) value = *each;
  }
  return value;
}

Result<JsonDocument> parse_json(std::string_view text) {
  if (text.size() > kMostJsonBytes) return Error{Code::kUnreadable, "it is larger than 16 MiB"};
  JsonBuilder builder;
  if (Status read = builder.read(text); !read) return read.error();
  return std::move(builder.document);
}

std::string excerpt(const JsonValue& value) {
  std::string text;
  write(value, text);
  return cut(std::move(text));
}

std::string excerpt(std::string_view text) { return cut(json_quoted(text.substr(0, kMostExcerpt), true)); }

}  // namespace tensorstat
