#include "stats/data/json/json_reader.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostTokenBytes = std::uint64_t{16} << 20;

struct Spot {
  std::uint64_t byte = 1, line = 1, column = 1;
};

// The position behind `text`, which begins at `spot`.
Spot moved(Spot spot, std::string_view text) {
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  spot.byte += text.size();
  spot.line += lines;
  spot.column = lines == 0 ? spot.column + text.size() : text.size() - text.rfind('\n');
  return spot;
}

// nlohmann's message without its number and its position. It quotes the text, and an unterminated string is quoted
// whole; so a long message keeps only its head and its tail, which says what was expected.
std::string words_of(std::string what) {
  constexpr std::size_t kMostHead = 160, kMostTail = 80;
  what.erase(0, what.find("] ") + 2);  // "[json.exception.parse_error.101] "
  if (const auto colon = what.find(": "); what.starts_with("parse error")) what.erase(0, colon + 2);
  if (what.size() <= kMostHead + kMostTail) return shown(what, what.size());
  return shown(what, kMostHead) + shown(std::string_view(what).substr(what.size() - kMostTail), kMostTail);
}

}  // namespace

// The bytes of a text, as nlohmann's parser takes them. nlohmann does not know a bare NaN or Infinity: those are given
// to it as a string. It stops at a NUL byte, so this stops there, too. Bytes between such places are given in runs.
class JsonReader::Bytes {
 public:
  Bytes(std::string_view text, const NextPiece* next, bool has_bare_numbers)
      : text_(text),
        next_(next),
        has_bare_numbers_(has_bare_numbers),
        begin_(text.data()),
        now_(begin_),
        end_(begin_) {}

  bool at_end() { return now_ == end_ && !begin_run(); }
  char byte() const { return *now_; }
  void skip() { ++now_; }

  // The next token may again have kMostTokenBytes.
  void token_ended() { token_at_ = given(); }
  // Whether that token stood for a bare number.
  bool was_bare_number() const { return is_made_; }

  // Why the text ended early.
  const Status& fault() const { return fault_; }
  bool is_too_long() const { return is_too_long_; }
  bool has_nul() const { return has_nul_; }

  // Converts a position of nlohmann, counted from 1, to the distance before the next byte (1 or 2).
  std::uint64_t back_to(std::size_t position) const {
    return position > given() ? 0 : std::min<std::uint64_t>(given() - position, 1) + 1;
  }
  Spot spot(std::uint64_t back) const {
    return moved(spot_, text_.substr(0, at() - std::min<std::uint64_t>(back, at())));
  }
  // Whether the last byte closes a list or an object behind a comma.
  bool closes_behind_comma() const {
    if (at() == 0 || (text_[at() - 1] != ']' && text_[at() - 1] != '}')) return false;
    return last_of(text_.substr(0, at() - 1)) == ',';
  }

 private:
  std::uint64_t given() const { return given_ + static_cast<std::uint64_t>(now_ - begin_); }
  // The index of the next byte in text_.
  std::size_t at() const { return is_made_ ? at_ : at_ + static_cast<std::size_t>(now_ - begin_); }
  // The last byte of `text` that is not a blank; if all are blanks, the last one before `text`.
  char last_of(std::string_view text) const {
    const auto last = text.find_last_not_of(" \t\r\n");
    return last == text.npos ? last_ : text[last];
  }

  // False at the end of the text.
  bool begin_run() {
    if (is_over_) return false;
    at_ = at();
    given_ = given();
    is_made_ = false;
    begin_ = now_ = end_ = nullptr;
    is_over_ = !has(0);
    if (is_over_) return false;
    const std::uint64_t token_bytes = given_ - token_at_;
    has_nul_ = text_[at_] == '\0';
    is_too_long_ = next_ != nullptr && token_bytes >= kMostTokenBytes;
    is_over_ = has_nul_ || is_too_long_;
    if (is_over_) return false;
    if (has_bare_numbers_ && !is_in_string_ && begin_bare_number()) return true;
    const std::uint64_t most = next_ == nullptr ? text_.size() : kMostTokenBytes - token_bytes;
    const std::size_t size = bytes_without_care(text_.substr(at_, most));
    begin_ = now_ = text_.data() + at_;
    end_ = begin_ + size;
    return true;
  }

  bool begin_bare_number() {
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (text_[at_] != word[0] || !has(word.size() - 1) || text_.substr(at_, word.size()) != word) continue;
      made_.assign(1, '"').append(word).append(1, '"');
      at_ += word.size();
      is_made_ = true;
      begin_ = now_ = made_.data();
      end_ = begin_ + made_.size();
      return true;
    }
    return false;
  }

  // The number of bytes before the next NUL byte or possible bare number. The first byte counts in any case.
  std::size_t bytes_without_care(std::string_view run) {
    if (!has_bare_numbers_) return std::min(run.find('\0'), run.size());
    std::size_t i = 0;
    for (; i < run.size() && run[i] != '\0'; ++i) {
      const char byte = run[i];
      if (is_in_string_) {
        const bool was_escaped = std::exchange(is_escaped_, !is_escaped_ && byte == '\\');
        is_in_string_ = byte != '"' || was_escaped;
      } else if (byte == '"') {
        is_in_string_ = true;
      } else if (i != 0 && (byte == 'N' || byte == 'I' || byte == '-')) {
        break;
      }
    }
    return i;
  }

  // Whether there is a byte so far ahead.
  bool has(std::size_t ahead) {
    while (text_.size() - at_ <= ahead) {
      if (next_ == nullptr || has_all_) return false;
      const std::size_t done = at_ - std::min<std::size_t>(at_, 2);  // a fault may be found to be in the last two
      spot_ = moved(spot_, text_.substr(0, done));
      last_ = last_of(text_.substr(0, done));
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
  Spot spot_;                        // the position of text_[0]
  char last_ = 0;                    // the last byte before text_ that is not a blank
  std::size_t at_ = 0;               // where the run begins in text_; behind the word, if the run is made_
  std::string made_;                 // replaces a bare number: the word in quotes
  const char *begin_, *now_, *end_;  // the bounds of the run
  bool is_made_ = false, is_over_ = false, has_all_ = false, is_in_string_ = false, is_escaped_ = false;
  bool has_nul_ = false, is_too_long_ = false;
  std::uint64_t given_ = 0, token_at_ = 0;  // bytes given before the run, and when the last token ended
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
  bool number_unsigned(number_unsigned_t number) override {
    return scalar(std::uint64_t{number}, std::to_string(number));
  }
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

  std::string words = "it is no JSON";  // the error, and its distance before the next byte
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
  return failure(Wrong::kSyntax, events.back,
                 events.words + (has_comma ? "; remove the trailing comma before it" : ""));
}

Error JsonReader::failure(Wrong wrong, std::uint64_t back, std::string_view what) const {
  const Spot spot = bytes_->spot(back);
  std::string message = where_ + (where_.empty() ? "" : ", ");
  if (rules_.has_one_line) {
    const std::string position = " at its byte " + std::to_string(spot.byte);
    if (wrong == Wrong::kSyntax) message.append("it is no JSON").append(position).append(": ");
    message.append(what).append(wrong == Wrong::kByte ? position : "");
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
