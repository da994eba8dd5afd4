#include "stats/json/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "stats/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostTokenBytes = std::uint64_t{16} << 20;

struct Spot {
  std::uint64_t byte = 1, line = 1, column = 1;
};

// Of the byte behind `text`, which begins at `spot`.
Spot moved(Spot spot, std::string_view text) {
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  spot.byte += text.size();
  spot.line += lines;
  spot.column = lines == 0 ? spot.column + text.size() : text.size() - text.rfind('\n');
  return spot;
}

// nlohmann's words of a fault, without its number and its place. They quote the text: a string that never ends is quoted
// whole, before what was expected.
std::string words_of(std::string what) {
  constexpr std::size_t kMostHead = 160, kMostTail = 80;
  what.erase(0, what.find("] ") + 2);  // "[json.exception.parse_error.101] "
  if (const auto colon = what.find(": "); what.starts_with("parse error")) what.erase(0, colon + 2);
  if (what.size() <= kMostHead + kMostTail) return shown(what, what.size());
  return shown(what, kMostHead) + shown(std::string_view(what).substr(what.size() - kMostTail), kMostTail);
}

}  // namespace

// The bytes of a text, as nlohmann's parser takes them. A bare NaN or Infinity is given as a string, because the parser
// knows none. A NUL byte ends the text for the parser, so it ends here.
class JsonReader::Bytes {
 public:
  Bytes(std::string_view text, const NextPiece* next, bool has_bare_numbers)
      : text_(text), next_(next), has_bare_numbers_(has_bare_numbers) {}

  bool at_end() {
    if (!has_byte_) advance();
    return is_over_;
  }
  char byte() {
    if (!has_byte_) advance();
    return byte_;
  }
  void skip() { has_byte_ = false; }

  // A token has ended: the next may be as long as one may be.
  void token_ended() { token_bytes_ = 0; }
  // Whether that token stood for a bare number.
  bool was_bare_number() const { return !made_.empty(); }

  // Why the text ended early.
  const Status& fault() const { return fault_; }
  bool is_too_long() const { return is_too_long_; }
  bool has_nul() const { return has_nul_; }

  // Of a position of nlohmann's, which is counted from 1: how far the byte is before the next one.
  std::uint64_t back_to(std::size_t position) const { return position > given_ ? 0 : std::min<std::uint64_t>(given_ - position, 1) + 1; }
  Spot spot(std::uint64_t back) const {
    return moved(begin_, text_.substr(0, at_ - std::min<std::uint64_t>(back, at_)));
  }
  // Whether the last byte closes a list or an object behind a comma.
  bool closes_behind_comma() const { return (last_ == ']' || last_ == '}') && before_last_ == ','; }

 private:
  void advance() {
    if (has_byte_ || is_over_) return;
    if (made_at_ < made_.size()) return give(made_[made_at_++]);
    made_.clear();
    if (!has(0)) return end();
    const char byte = text_[at_];
    has_nul_ = byte == '\0';
    is_too_long_ = next_ != nullptr && token_bytes_ == kMostTokenBytes;
    if (has_nul_ || is_too_long_) return end();
    ++token_bytes_;
    if (has_bare_numbers_ && !is_in_string_ && (byte == 'N' || byte == 'I' || byte == '-')) {
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (!is_next(word)) continue;
        at_ += word.size();
        made_.append(1, '"').append(word).append(1, '"');
        made_at_ = 1;
        return give('"');
      }
    }
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (byte == '"') {
      is_in_string_ = !is_in_string_;
    } else if (byte == '\\') {
      is_escaped_ = is_in_string_;
    }
    if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') before_last_ = std::exchange(last_, byte);
    ++at_;
    give(byte);
  }

  void give(char byte) {
    byte_ = byte;
    has_byte_ = true;
    ++given_;
  }
  void end() {
    is_over_ = true;
    has_byte_ = true;
  }

  bool is_next(std::string_view word) { return has(word.size() - 1) && text_.substr(at_, word.size()) == word; }

  // Whether there is a byte so far ahead.
  bool has(std::size_t ahead) {
    while (text_.size() - at_ <= ahead) {
      if (next_ == nullptr || has_all_) return false;
      const std::size_t done = at_ - std::min<std::size_t>(at_, 2);  // a fault may be found to be in the last two
      begin_ = moved(begin_, text_.substr(0, done));
      piece_.erase(0, done);
      at_ -= done;
      const auto more = (*next_)(piece_);
      if (!more) fault_ = more.error();
      has_all_ = !more || !*more;
      text_ = piece_;
    }
    return true;
  }

  std::string_view text_;  // as much of it as is here
  std::string piece_;      // where it comes in pieces
  const NextPiece* const next_;
  const bool has_bare_numbers_;
  Spot begin_;  // of what is here
  std::size_t at_ = 0;
  std::string made_;  // given in the place of a bare number
  std::size_t made_at_ = 0;
  char byte_ = 0, last_ = 0, before_last_ = 0;  // blanks are not among the last
  bool has_byte_ = false, is_over_ = false, has_all_ = false, is_in_string_ = false, is_escaped_ = false;
  bool has_nul_ = false, is_too_long_ = false;
  std::uint64_t given_ = 0, token_bytes_ = 0;
  Status fault_;
};

// nlohmann's events as the reader's. The iterator over the bytes is an input iterator; the default one is the end.
class JsonReader::Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    Iterator() = default;
    explicit Iterator(Bytes& bytes) : bytes_(&bytes) {}
    char operator*() const { return bytes_->byte(); }
    Iterator& operator++() { return bytes_->skip(), *this; }
    Iterator operator++(int) { return bytes_->skip(), *this; }
    bool operator==(const Iterator& other) const {
      return (bytes_ == nullptr || bytes_->at_end()) == (other.bytes_ == nullptr || other.bytes_->at_end());
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    Bytes* bytes_ = nullptr;
  };

  Events(JsonReader& reader, Bytes& bytes) : reader_(reader), bytes_(bytes) {}

  bool null() override { return scalar({}, "null"); }
  bool boolean(bool truth) override { return scalar(truth, truth ? "true" : "false"); }
  bool number_integer(number_integer_t number) override { return scalar(std::int64_t{number}, std::to_string(number)); }
  bool number_unsigned(number_unsigned_t number) override { return scalar(std::uint64_t{number}, std::to_string(number)); }
  bool number_float(number_float_t number, const string_t& written) override { return scalar(double{number}, written); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool string(string_t& text) override {
    if (bytes_.was_bare_number()) return scalar(text[0] == 'N' ? NAN : text[0] == '-' ? -HUGE_VAL : HUGE_VAL, text);
    bytes_.token_ended();
    return reader_.string(text);
  }
  bool key(string_t& name) override {
    if (bytes_.was_bare_number()) return reader_.refuse("a number in the place of a name");
    bytes_.token_ended();
    return reader_.key(name);
  }
  bool start_object(std::size_t) override { return start(false); }
  bool start_array(std::size_t) override { return start(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& what) override {
    words = words_of(what.what());
    back = bytes_.back_to(position);
    return false;
  }

  std::string words = "it is no JSON";  // what is wrong, and how far before the next byte
  std::uint64_t back = 1;

 private:
  bool scalar(const JsonScalar& value, std::string_view written) {
    bytes_.token_ended();
    return reader_.scalar(value, written);
  }
  bool start(bool is_list) {
    bytes_.token_ended();
    if (levels_++ < reader_.rules_.most_levels) return reader_.begin(is_list);
    return reader_.refuse("more than " + std::to_string(reader_.rules_.most_levels) + " levels");
  }
  bool end() {
    bytes_.token_ended();
    --levels_;
    return reader_.end();
  }

  JsonReader& reader_;
  Bytes& bytes_;
  std::size_t levels_ = 0;
};

Status JsonReader::read(std::string_view text) {
  Bytes bytes(text, nullptr, rules_.has_bare_numbers);
  return read(bytes);
}

Status JsonReader::read(const NextPiece& next) {
  Bytes bytes({}, &next, rules_.has_bare_numbers);
  return read(bytes);
}

Status JsonReader::read(Bytes& bytes) {
  bytes_ = &bytes;
  Events events(*this, bytes);
  const bool is_parsed = nlohmann::json::sax_parse(Events::Iterator(bytes), Events::Iterator(), &events);
  if (!status_) return status_;
  if (!bytes.fault()) return bytes.fault();
  if (bytes.is_too_long()) return failure(Wrong::kByte, 1, "a text or a number longer than 16 MiB");
  if (bytes.has_nul()) return failure(Wrong::kByte, 0, "a NUL byte");
  if (is_parsed) return {};
  const bool has_comma = events.back == 1 && bytes.closes_behind_comma();
  return failure(Wrong::kSyntax, events.back, events.words + (has_comma ? "; remove the comma before it" : ""));
}

Error JsonReader::failure(Wrong wrong, std::uint64_t back, std::string_view what) const {
  const Spot spot = bytes_->spot(back);
  std::string message = where_ + (where_.empty() ? "" : ", ");
  if (rules_.has_one_line) {
    const std::string at = " at its byte " + std::to_string(spot.byte);
    if (wrong == Wrong::kSyntax) message.append("it is no JSON").append(at).append(": ");
    message.append(what).append(wrong == Wrong::kByte ? at : "");
  } else {
    message += "line " + std::to_string(spot.line) + ", column " + std::to_string(spot.column) + ": ";
    message += what;
  }
  return {Code::kUnreadable, message};
}

bool JsonReader::refuse(std::string_view what) { return proceed(failure(Wrong::kMeaning, 1, what)); }

bool JsonReader::proceed(Status status) {
  status_ = std::move(status);
  return static_cast<bool>(status_);
}

bool is_json(std::string_view text) {
  struct Nothing : JsonReader {
    Nothing() : JsonReader(Rules()) {}
    bool scalar(const JsonScalar&, std::string_view) override { return true; }
    bool string(std::string&) override { return true; }
    bool key(std::string&) override { return true; }
    bool begin(bool) override { return true; }
    bool end() override { return true; }
  };
  return static_cast<bool>(Nothing().read(text));
}

}  // namespace tensorstat
