// Reads a small JSON text, which may be hostile, into a tree.
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

// A parsed text: its values in one list, in the order of the text. nlohmann's own tree is not used: its destructor
// allocates, so without memory it ends the process.
class JsonDocument {
 public:
  enum class Kind : std::uint8_t { kNull, kBoolean, kNatural, kNumber, kString, kArray, kObject };

  JsonValue root() const;
  // Keys that came more than once, as "a.b". The last value counts.
  const std::vector<std::string>& duplicates() const { return duplicates_; }

 private:
  friend class JsonBuilder;
  friend class JsonValue;

  struct Node {
    Kind kind = Kind::kNull;
    std::uint32_t end = 0;  // the node behind this one and its children
    std::uint32_t text_begin = 0, text_size = 0;
  };

  std::vector<Node> nodes_;
  std::string texts_;
  std::vector<std::string> duplicates_;
};

// A value of a document. It refers to the document, which must outlive it.
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
    Iterator(const JsonDocument& document, std::uint32_t index) : document_(&document), at_(index) {}
    const JsonDocument* document_;
    std::uint32_t at_;
  };

  bool is(Kind kind) const { return node().kind == kind; }
  // The content of a string; of another scalar, its text in the document.
  std::string_view text() const;
  std::uint64_t natural() const;  // for kNatural: a whole number without a sign, below 2^64

  // The elements of an array; the keys and values of an object, in turn.
  Iterator begin() const { return {*document_, at_ + 1}; }
  Iterator end() const { return {*document_, node().end}; }
  std::size_t size() const;  // for kArray

  // For kObject.
  std::set<std::string_view> keys() const;
  std::optional<JsonValue> find(std::string_view key) const;  // the last one with that name

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument& document, std::uint32_t index) : document_(&document), at_(index) {}
  const JsonDocument::Node& node() const { return document_->nodes_[at_]; }

  const JsonDocument* document_;
  std::uint32_t at_;
};

// The size limit: 100,000 operator names, each as long as MindSpore makes them.
inline constexpr std::size_t kMostJsonBytes = std::size_t{16} << 20;

// Limits: kMostJsonBytes and 64 levels. Errors name line and column. An integer beyond 64 bits is a kNumber, which no
// integer key accepts.
Result<JsonDocument> parse_json(std::string_view text);

// A value, or a text, for an error message: one line of ASCII, cut after 80 characters.
std::string excerpt(const JsonValue& value);
std::string excerpt(std::string_view text);

}  // namespace tensorstat
