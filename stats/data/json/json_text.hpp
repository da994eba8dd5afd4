// A small text of JSON, which may be hostile, as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

class JsonValue;

// A text taken apart: its values in the order of the text, in one list. nlohmann's own tree is not used, because its
// destructor allocates and must not throw: without memory it ends the process.
class JsonDocument {
 public:
  enum class Kind : std::uint8_t { kNull, kBoolean, kNatural, kNumber, kString, kArray, kObject };

  JsonValue root() const;
  // "a.b": keys that came again. The last one counts.
  const std::vector<std::string>& duplicates() const { return duplicates_; }

 private:
  friend class JsonBuilder;
  friend class JsonValue;

  struct Node {
    Kind kind = Kind::kNull;
    std::uint32_t end = 0;  // the node behind it and all that is in it
    std::uint32_t text_begin = 0, text_size = 0;
  };

  std::vector<Node> nodes_;
  std::string texts_;
  std::vector<std::string> duplicates_;
};

// A value of a document, which outlives it.
class JsonValue {
 public:
  using Kind = JsonDocument::Kind;

  class Iterator {
   public:
    JsonValue operator*() const { return {*document_, at_}; }
    Iterator& operator++() {
      at_ = document_->nodes_[at_].end;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class JsonValue;
    Iterator(const JsonDocument& document, std::uint32_t at) : document_(&document), at_(at) {}
    const JsonDocument* document_;
    std::uint32_t at_;
  };

  bool is(Kind kind) const { return node().kind == kind; }
  // What a string says; of the other scalars, what was written.
  std::string_view text() const;
  std::uint64_t natural() const;  // of a kNatural: a whole number without a sign, below 2^64

  // The elements of an array; the keys and values of an object, in turn.
  Iterator begin() const { return {*document_, at_ + 1}; }
  Iterator end() const { return {*document_, node().end}; }
  std::size_t size() const;  // of an array

  // Of an object.
  std::set<std::string_view> keys() const;
  std::optional<JsonValue> find(std::string_view key) const;  // the last one of that name

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument& document, std::uint32_t at) : document_(&document), at_(at) {}
  const JsonDocument::Node& node() const { return document_->nodes_[at_]; }

  const JsonDocument* document_;
  std::uint32_t at_;
};

// The largest text that is read: 100,000 operators' names, each as long as MindSpore makes them.
inline constexpr std::size_t kMostJsonBytes = std::size_t{16} << 20;

// At most kMostJsonBytes of text and 64 levels; beyond, and for wrong syntax, an error with line and column.
// An integer beyond 64 bits is a kNumber, which no integer key accepts.
Result<JsonDocument> parse_json(std::string_view text);

// A value, or a text, for an error message: one line of ASCII, cut after 80 characters.
std::string excerpt(const JsonValue& value);
std::string excerpt(std::string_view text);

}  // namespace tensorstat
