// Reads JSON as a sequence of events, without a tree. The text may be hostile and of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>
#include <variant>

#include "stats/data/text/next_piece.hpp"

namespace tensorstat {

// null, a truth or a number. Whole numbers of 64 bits are exact: below zero an int64, else a uint64.
using JsonScalar = std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double>;

class JsonReader {
 public:
  struct Rules {
    bool has_bare_numbers = false;  // NaN, Infinity and -Infinity, as Python writes them
    bool has_one_line = false;      // a fault is at a byte, not at a line and a column
    std::size_t most_levels = 512;
  };

  // `where` begins each error: "dump.json, line 3, column 7: syntax error ...".
  explicit JsonReader(Rules rules, std::string where = {}) : rules_(rules), where_(std::move(where)) {}
  virtual ~JsonReader() = default;

  // Reads the whole text; call once. Returns an error in the text, or the error that ended the reading.
  Status read(std::string_view text);
  // Reads a text that comes in pieces. A string or number in it may have at most 16 MiB.
  Status read(const NextPiece& next);

 protected:
  // Events, in the order of the text. Return false to end the reading.
  virtual bool scalar(const JsonScalar& value, std::string_view written) = 0;
  virtual bool string(std::string& text) = 0;  // may be moved from
  virtual bool key(std::string& name) = 0;
  virtual bool begin(bool is_list) = 0;  // a list or an object
  virtual bool end() = 0;                // the list or object that began last

  // Fails the reading: the last event is wrong. `what` says why.
  bool refuse(std::string_view what);
  // Stores the status; false if it is an error, which ends the reading.
  bool proceed(Status status);

  const std::string& where() const { return where_; }

 private:
  class Bytes;
  class Events;
  enum class Wrong : std::uint8_t { kSyntax, kByte, kMeaning };

  Status read(Bytes& bytes);
  // `back`: the distance before the next byte.
  Error failure(Wrong wrong, std::uint64_t back, std::string_view what) const;

  const Rules rules_;
  const std::string where_;
  Bytes* bytes_ = nullptr;
  Status status_;
};

// Whether the text is one value of JSON, and nothing else.
bool is_json(std::string_view text);

}  // namespace tensorstat
