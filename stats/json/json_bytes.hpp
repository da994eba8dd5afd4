// The bytes of a JSON text in pieces, as nlohmann's parser takes them, with NaN and Infinity made readable for it.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>

#include "stats/files/io/text_pieces.hpp"

namespace tensorstat {

// What a bare NaN, Infinity or -Infinity becomes: a text that begins so.
inline constexpr char kNumberMark = '\x01';

class JsonBytes {
 public:
  explicit JsonBytes(const NextPiece& next) : next_(next) {}

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

  // Why the text ended early: it could not be read, or a token does not end.
  const Status& fault() const { return fault_; }
  bool is_too_long() const { return token_bytes_ >= kMostTokenBytes; }
  std::string place() const { return "line " + std::to_string(line_) + ", column " + std::to_string(column_); }

 private:
  static constexpr std::uint64_t kMostTokenBytes = std::uint64_t{16} << 20;

  void advance() {
    if (has_byte_ || is_over_) return;
    if (made_at_ < made_.size()) return give(made_[made_at_++]);
    char byte = 0;
    if (!peek(0, byte)) return end();
    if (is_too_long()) return end();
    ++token_bytes_;
    if (!is_in_text_ && (byte == 'N' || byte == 'I' || byte == '-')) {
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (!is_next(word)) continue;
        take(word.size());
        made_ = "\"\\u0001" + std::string(word) + '"';
        made_at_ = 1;
        return give('"');
      }
    }
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (byte == '"') {
      is_in_text_ = !is_in_text_;
    } else if (byte == '\\') {
      is_escaped_ = is_in_text_;
    }
    take(1);
    give(byte);
  }

  void give(char byte) {
    byte_ = byte;
    has_byte_ = true;
  }
  void end() {
    is_over_ = true;
    has_byte_ = true;
  }

  bool is_next(std::string_view word) {
    char byte = 0;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (!peek(i, byte) || byte != word[i]) return false;
    }
    return true;
  }

  bool peek(std::size_t ahead, char& byte) {
    while (piece_.size() - at_ <= ahead) {
      piece_.erase(0, std::exchange(at_, 0));
      if (has_all_) return false;
      const auto more = next_(piece_);
      if (!more) fault_ = more.error();
      has_all_ = !more || !*more;
    }
    byte = piece_[at_ + ahead];
    return true;
  }

  void take(std::size_t count) {
    for (; count != 0; --count, ++at_) {
      const bool is_new_line = piece_[at_] == '\n';
      line_ += is_new_line;
      column_ = is_new_line ? 0 : column_ + 1;
    }
  }

  const NextPiece& next_;
  std::string piece_, made_;  // made: in the place of what was read
  std::size_t at_ = 0, made_at_ = 0;
  char byte_ = 0;
  bool has_byte_ = false, is_over_ = false, has_all_ = false, is_in_text_ = false, is_escaped_ = false;
  std::uint64_t line_ = 1, column_ = 0, token_bytes_ = 0;
  Status fault_;
};

// An input iterator over them; the default one is the end.
class JsonIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  JsonIterator() = default;
  explicit JsonIterator(JsonBytes& bytes) : bytes_(&bytes) {}
  char operator*() const { return bytes_->byte(); }
  JsonIterator& operator++() { return bytes_->skip(), *this; }
  JsonIterator operator++(int) { return bytes_->skip(), *this; }
  bool operator==(const JsonIterator& other) const {
    return (bytes_ == nullptr || bytes_->at_end()) == (other.bytes_ == nullptr || other.bytes_->at_end());
  }
  bool operator!=(const JsonIterator& other) const { return !(*this == other); }

 private:
  JsonBytes* bytes_ = nullptr;
};

}  // namespace tensorstat
