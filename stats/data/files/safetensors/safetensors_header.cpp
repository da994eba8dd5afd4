#include "stats/data/files/safetensors/safetensors_header.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <unordered_set>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/json/json_reader.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

// A recogniser. Each method consumes the syntax in its name; false ends the reading.
class PlainHeader {
 public:
  explicit PlainHeader(std::string_view text) : rest_(text) {}

  std::vector<SafetensorsEntry> entries;

  bool read() {
    const auto member = [this](std::string_view name) { return name == kMetadata ? metadata() : tensor(name); };
    if (!object(member)) return false;
    skip_blanks();
    return rest_.empty();
  }

 private:
  // `member` consumes the value of a key. False if a key may come twice: two have the same hash.
  template <typename Member>
  bool object(const Member& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    std::vector<std::size_t> hashes;
    do {
      std::string_view key;
      if (!string(key) || !take(':') || !member(key)) return false;
      hashes.push_back(std::hash<std::string_view>()(key));
    } while (take(','));
    std::ranges::sort(hashes);
    return take('}') && std::ranges::adjacent_find(hashes) == hashes.end();
  }

  bool metadata() {
    return object([this](std::string_view) {
      std::string_view value;
      return string(value);
    });
  }

  bool tensor(std::string_view name) {
    std::string_view dtype;
    if (!take('{') || !key("dtype") || !string(dtype) || !take(',') || !key("shape") || !numbers()) return false;
    SafetensorsEntry& entry = entries.emplace_back();
    entry.name = name;
    entry.dtype = dtype;
    entry.shape.assign(numbers_, numbers_ + count_);
    if (!take(',') || !key("data_offsets") || !numbers() || count_ != 2) return false;
    entry.begin = numbers_[0];
    entry.end = numbers_[1];
    return take('}');
  }

  bool key(std::string_view wanted) {
    std::string_view key;
    return string(key) && key == wanted && take(':');
  }

  bool numbers() {
    count_ = 0;
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (count_ == std::size(numbers_) || !number(numbers_[count_++])) return false;
    } while (take(','));
    return take(']');
  }

  bool number(std::uint64_t& number) {
    skip_blanks();
    const char* begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + rest_.size(), number);
    if (error != std::errc() || (*begin == '0' && end - begin > 1)) return false;
    rest_.remove_prefix(end - begin);
    return true;
  }

  bool string(std::string_view& text) {
    if (!take('"')) return false;
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    const std::size_t size = std::ranges::find_if_not(rest_, is_plain) - rest_.begin();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (!rest_.starts_with('"')) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take(char wanted) {
    skip_blanks();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_blanks() {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::uint64_t numbers_[kMostDimensions];
  std::size_t count_ = 0;  // of numbers_
};

// Parses the header without building a tree. Anything that the format does not allow stops it.
class JsonHeader : public JsonReader {
 public:
  JsonHeader() : JsonReader({.has_one_line = true}) {}

  std::vector<SafetensorsEntry> entries;

 private:
  enum class Place { kNowhere, kRoot, kMetadata, kTensor, kShape, kOffsets };
  static constexpr std::string_view kTensorKeys[] = {"dtype", "shape", "data_offsets"};

  bool scalar(const JsonScalar& value, std::string_view) override {
    constexpr const char* kKinds[] = {"null", "a boolean", "a number", "a negative number",
                                      "a number that is not whole, or not below 2^64"};
    const auto* number = std::get_if<std::uint64_t>(&value);
    if (number == nullptr || (place_ != Place::kShape && place_ != Place::kOffsets))
      return unexpected(kKinds[value.index()]);
    if (place_ == Place::kShape) {
      Shape& shape = entries.back().shape;
      if (shape.size() == kMostDimensions) return refuse(this_tensor() + " has more than 64 dimensions");
      shape.push_back(*number);
      return true;
    }
    if (offset_count_ == 2) return refuse("data_offsets of " + this_tensor() + " are more than two numbers");
    (offset_count_++ == 0 ? entries.back().begin : entries.back().end) = *number;
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || key_ != "dtype") return unexpected("a string");
    entries.back().dtype = text;
    return true;
  }
  bool key(std::string& key) override {
    key_ = key;
    if (place_ == Place::kTensor) {
      const auto known = std::ranges::find(kTensorKeys, key);
      if (known == std::end(kTensorKeys)) return refuse(this_tensor() + " has the unknown key " + in_quotes(key));
      bool& is_seen = is_seen_[known - kTensorKeys];
      return !std::exchange(is_seen, true) || comes_twice(key);
    }
    if (place_ == Place::kMetadata) return metadata_.insert(key).second || comes_twice(key);
    // Tensor names, which may be many, are checked for duplicates at the end.
    return key != kMetadata || !std::exchange(has_metadata_, true) || comes_twice(key);
  }
  bool begin(bool is_list) override {
    if (is_list) {
      if (place_ == Place::kTensor && key_ == "shape") return enter(Place::kShape);
      if (place_ == Place::kTensor && key_ == "data_offsets") return enter(Place::kOffsets);
      return unexpected("an array");
    }
    if (place_ == Place::kNowhere) return enter(Place::kRoot);
    if (place_ != Place::kRoot) return unexpected("an object");
    if (key_ == kMetadata) return enter(Place::kMetadata);
    std::ranges::fill(is_seen_, false);
    entries.emplace_back().name = key_;
    offset_count_ = 0;
    return enter(Place::kTensor);
  }
  bool end() override {
    if (place_ == Place::kTensor) {
      for (std::size_t i = 0; i < std::size(kTensorKeys); ++i) {
        if (!is_seen_[i]) return refuse(this_tensor() + " has no " + std::string(kTensorKeys[i]));
      }
    }
    if (place_ == Place::kRoot) return are_apart() && enter(Place::kNowhere);
    if (place_ == Place::kOffsets && offset_count_ != 2) {
      return refuse("data_offsets of " + this_tensor() + " are not two numbers");
    }
    return enter(place_ == Place::kShape || place_ == Place::kOffsets ? Place::kTensor : Place::kRoot);
  }

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool comes_twice(const std::string& key) { return refuse("the key " + in_quotes(key) + " comes twice"); }
  bool are_apart() {
    std::vector<const std::string*> names;
    names.reserve(entries.size());
    for (const SafetensorsEntry& entry : entries) names.push_back(&entry.name);
    const auto text = [](const std::string* name) -> const std::string& { return *name; };
    std::ranges::sort(names, {}, text);
    const auto twice = std::ranges::adjacent_find(names, {}, text);
    return twice == names.end() || comes_twice(**twice);
  }
  std::string this_tensor() const { return "tensor " + in_quotes(entries.back().name); }
  bool unexpected(const std::string& what) {
    switch (place_) {
      case Place::kNowhere:
        return refuse("it is " + what + ", not an object");
      case Place::kRoot:
        return refuse(in_quotes(key_) + " is " + what + ", not an object");
      case Place::kMetadata:
        return refuse(in_quotes(key_) + " in __metadata__ is " + what + ", not a string");
      case Place::kTensor:
        return refuse(key_ + " of " + this_tensor() + " is " + what);
      default:
        return refuse(key_ + " of " + this_tensor() + " holds " + what);
    }
  }

  Place place_ = Place::kNowhere;
  std::string key_;
  std::unordered_set<std::string> metadata_;  // its keys
  bool has_metadata_ = false;
  bool is_seen_[std::size(kTensorKeys)] = {};  // keys seen in this tensor
  int offset_count_ = 0;
};

}  // namespace

Result<std::vector<SafetensorsEntry>> safetensors_header(std::string_view text) {
  if (auto plain = plain_header(text)) return *std::move(plain);
  return json_header(text);
}

std::optional<std::vector<SafetensorsEntry>> plain_header(std::string_view text) {
  PlainHeader header(text);
  if (!header.read()) return std::nullopt;
  return std::move(header.entries);
}

Result<std::vector<SafetensorsEntry>> json_header(std::string_view text) {
  JsonHeader header;
  if (Status read = header.read(text); !read) return read.error();
  return std::move(header.entries);
}

}  // namespace tensorstat
