// A pickle as data: protocols 0 to 5 of Python's pickle, read without trust. Nothing in it is run or imported. What it
// would call stays a node with a name and arguments. Format: https://docs.python.org/3/library/pickletools.html,
// CPython's Lib/pickletools.py
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

class Pickle {
 public:
  enum class Kind : std::uint8_t {
    kOther,    // None, a real number, a set, an integer that does not fit: nothing that is asked for
    kInteger,  // number; also True and False
    kText,     // text; also bytes
    kTuple,    // items
    kList,     // items
    kDict,     // items: key, value, key, value, ...
    kName,     // text: the module, more: the name in it
    kCall,     // items: the function, its arguments, then the values added to the result: lists, dicts and states
    kStored,   // items: the identity of something outside the pickle
  };
  struct Node {
    Kind kind = Kind::kOther;
    std::int64_t number = 0;
    std::string_view text = {}, more = {};  // of the bytes that were read
    std::vector<std::uint32_t> items = {};  // nodes, by number
  };

  // The pickle that `bytes` begin with; they outlive it. Takes memory in proportion to the bytes: some 20 MB, and some
  // 30 for each byte at most. Whole numbers below 65,536, empty tuples and kOther are one shared node each. Errors:
  // kUnreadable with the cause and the byte; ends_early() where bytes lack.
  static Result<Pickle> read(std::string_view bytes);

  // Limits on what a byte or two make: nodes, memoized keys out of order; and on open marks.
  static constexpr std::size_t kFreeNodes = std::size_t{1} << 16, kBytesANode = 4, kMostMarks = kFreeNodes;

  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  // The value of a text key in a dict, as a node's number; nullopt if it is missing, or `dict` is of another kind.
  std::optional<std::uint32_t> find(const Node& dict, std::string_view key) const;
  std::uint32_t root() const { return root_; }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t size_bytes() const { return size_bytes_; }  // of the pickle, its end included

 private:
  class Reader;
  std::deque<Node> nodes_;
  std::uint32_t root_ = 0;
  std::size_t size_bytes_ = 0;
};

// Whether Pickle::read() failed because the bytes end before the pickle does.
bool ends_early(const Error& error);

}  // namespace tensorstat
