#include "stats/data/files/torch/pickle.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::string_view kEndsEarly = "the pickle does not end";

}  // namespace

std::optional<std::uint32_t> Pickle::find(const Node& dict, std::string_view key) const {
  for (std::size_t k = 0; dict.kind == Kind::kDict && k + 1 < dict.items.size(); k += 2) {
    const Node& its_key = nodes_[dict.items[k]];
    if (its_key.kind == Kind::kText && its_key.text == key) return dict.items[k + 1];
  }
  return std::nullopt;
}

bool ends_early(const Error& error) { return error.message == kEndsEarly; }

// The machine that pickletools describes, with nodes for objects. Each step returns false after fail().
class Pickle::Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<Pickle> run() {
    while (!is_done_) {
      opcode_at_ = at_;
      std::string_view opcode;
      if (!take(1, opcode) || !step(opcode[0])) return Error{Code::kUnreadable, std::move(fault_)};
    }
    pickle_.size_bytes_ = at_;
    return std::move(pickle_);
  }

 private:
  using Id = std::uint32_t;
  static constexpr Id kUnmade = UINT32_MAX;
  static constexpr std::int64_t kSharedIntegers = 65'536;

  bool fail(std::string what) {
    fault_ = "the pickle " + std::move(what) + " at its byte " + std::to_string(opcode_at_);
    return false;
  }

  bool take(std::uint64_t count, std::string_view& into) {
    if (count > bytes_.size() - at_) return fault_ = kEndsEarly, false;
    into = bytes_.substr(at_, count);
    at_ += count;
    return true;
  }
  // Little-endian, of `count` bytes, at most 8.
  bool take_number(std::size_t count, std::uint64_t& number) {
    std::string_view digits;
    if (!take(count, digits)) return false;
    number = 0;
    for (std::size_t i = 0; i < count; ++i) number |= std::uint64_t{static_cast<unsigned char>(digits[i])} << 8 * i;
    return true;
  }
  bool take_line(std::string_view& line) {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) return fault_ = kEndsEarly, false;
    line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool push(Node node) {
    if (pickle_.nodes_.size() >= most_nodes()) return fail("holds too many objects for its bytes");
    stack_.push_back(static_cast<Id>(pickle_.nodes_.size()));
    pickle_.nodes_.push_back(std::move(node));
    return true;
  }
  std::size_t most_nodes() const { return kFreeNodes + at_ / kBytesANode; }

  // Pushes a node that nothing changes; `shared` is its number once it is made.
  bool push_shared(Id& shared, Kind kind, std::int64_t number = 0) {
    if (shared != kUnmade) return stack_.push_back(shared), true;
    if (!push({.kind = kind, .number = number})) return false;
    shared = stack_.back();
    return true;
  }
  bool push_other() { return push_shared(other_, Kind::kOther); }
  bool push_integer(std::int64_t number) {
    if (number < 0 || number >= kSharedIntegers) return push({.kind = Kind::kInteger, .number = number});
    const auto place = static_cast<std::size_t>(number);
    if (place >= integers_.size()) integers_.resize(std::bit_ceil(place + 1), kUnmade);
    return push_shared(integers_[place], Kind::kInteger, number);
  }
  bool push_counted_text(std::size_t length_bytes) {
    std::uint64_t length = 0;
    std::string_view text;
    if (!take_number(length_bytes, length) || !take(length, text)) return false;
    return push({.kind = Kind::kText, .text = text});
  }
  // A number in two's complement; of more than 8 bytes it is kOther.
  bool push_long(std::size_t length_bytes) {
    std::uint64_t length = 0;
    std::string_view digits;
    if (!take_number(length_bytes, length) || !take(length, digits)) return false;
    if (length > 8) return push_other();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const bool is_negative = length != 0 && static_cast<signed char>(digits.back()) < 0;
      const std::uint64_t byte = i < length ? static_cast<unsigned char>(digits[i]) : is_negative ? 0xff : 0;
      number |= byte << 8 * i;
    }
    return push_integer(static_cast<std::int64_t>(number));
  }
  bool push_decimal(std::string_view line) {
    if (line.ends_with('L')) line.remove_suffix(1);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    return error == std::errc() && end == line.data() + line.size() ? push_integer(number) : push_other();
  }

  // The objects above the last mark.
  bool pop_marked(std::vector<Id>& items) {
    if (marks_.empty()) return fail("has no mark");
    items.assign(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }
  bool pop(Id& item) {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return fail("takes from an empty stack");
    item = stack_.back();
    stack_.pop_back();
    return true;
  }
  bool top(Id& item) { return pop(item) && (stack_.push_back(item), true); }

  bool push_marked(Kind kind) {
    Node node{.kind = kind};
    return pop_marked(node.items) && push(std::move(node));
  }
  bool push_tuple(std::size_t count) {
    Node node{.kind = Kind::kTuple};
    node.items.resize(count);
    for (std::size_t i = count; i-- > 0;) {
      if (!pop(node.items[i])) return false;
    }
    return push(std::move(node));
  }
  // The call with its parts: the last `count` values of the stack.
  bool push_call(std::size_t count) {
    if (!push_tuple(count)) return false;
    pickle_.nodes_.back().kind = Kind::kCall;
    return true;
  }

  // Puts items into the container on top of the stack: into a list or dict, or into a list or dict of its own of what a
  // call gave.
  bool put(Kind kind, const std::vector<Id>& items) {
    Id target = 0;
    if (!top(target)) return false;
    if (pickle_.nodes_[target].kind == Kind::kCall) {
      Id inner = 0;
      if (!push({.kind = kind}) || !pop(inner)) return false;
      pickle_.nodes_[target].items.push_back(inner);
      target = inner;
    }
    Node& node = pickle_.nodes_[target];
    if (node.kind == Kind::kOther) return true;  // a set
    if (node.kind != kind) return fail("puts items into what is no container of them");
    node.items.insert(node.items.end(), items.begin(), items.end());
    return true;
  }
  bool put_marked(Kind kind) {
    std::vector<Id> items;
    if (!pop_marked(items)) return false;
    if (kind == Kind::kDict && items.size() % 2 != 0) return fail("has a key without a value");
    return put(kind, items);
  }
  bool put_last(Kind kind, std::size_t count) {
    std::vector<Id> items(count);
    for (std::size_t i = count; i-- > 0;) {
      if (!pop(items[i])) return false;
    }
    return put(kind, items);
  }
  bool build() {
    Id state = 0, target = 0;
    if (!pop(state) || !top(target)) return false;
    Node& node = pickle_.nodes_[target];
    if (node.kind == Kind::kCall) node.items.push_back(state);
    return true;  // the attributes of a list or dict are not its items
  }

  bool remember(std::uint64_t key) {
    Id item = 0;
    if (!top(item)) return false;
    if (key < memo_.size()) return memo_[key] = item, true;
    if (key == memo_.size()) return memo_.push_back(item), sparse_memo_.erase(key), true;
    if (sparse_memo_.size() >= most_nodes()) return fail("remembers too many objects for its bytes");
    sparse_memo_[key] = item;
    return true;
  }
  bool recall(std::uint64_t key) {
    if (key < memo_.size()) return stack_.push_back(memo_[key]), true;
    const auto entry = sparse_memo_.find(key);
    if (entry == sparse_memo_.end()) return fail("recalls what it has not remembered");
    stack_.push_back(entry->second);
    return true;
  }
  bool numbered(std::size_t length_bytes, bool (Reader::*act)(std::uint64_t)) {
    std::uint64_t number = 0;
    return take_number(length_bytes, number) && (this->*act)(number);
  }
  bool numbered_by_line(bool (Reader::*act)(std::uint64_t)) {
    std::string_view line;
    if (!take_line(line)) return false;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || end != line.data() + line.size()) return fail("has a number that is none");
    return (this->*act)(number);
  }

  bool stop() {
    is_done_ = true;
    return pop(pickle_.root_);
  }

  bool step(char opcode) {
    std::string_view text, more;
    std::uint64_t number = 0;
    Id item = 0;
    switch (opcode) {
      case '\x80':  // PROTO
        return take_number(1, number) && (number <= 5 || fail("is of the unknown protocol " + std::to_string(number)));
      case '\x95':  // FRAME
        return take_number(8, number);
      case '.':
        return stop();
      case '(':
        if (marks_.size() == kMostMarks) return fail("has more than 65536 open marks");
        marks_.push_back(stack_.size());
        return true;
      case '0':  // POP, which takes a mark where that is on top
        if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back(), true;
        return pop(item);
      case '1': {  // POP_MARK
        std::vector<Id> items;
        return pop_marked(items);
      }
      case '2':  // DUP
        return top(item) && (stack_.push_back(item), true);
      case 'N':
        return push_other();
      case '\x88':
        return push_integer(1);
      case '\x89':
        return push_integer(0);
      case 'I':
      case 'L':
        return take_line(text) && push_decimal(text);
      case 'J':
        return take_number(4, number) && push_integer(static_cast<std::int32_t>(number));
      case 'K':
        return take_number(1, number) && push_integer(static_cast<std::int64_t>(number));
      case 'M':
        return take_number(2, number) && push_integer(static_cast<std::int64_t>(number));
      case '\x8a':
        return push_long(1);
      case '\x8b':
        return push_long(4);
      case 'F':
        return take_line(text) && push_other();
      case 'G':
        return take(8, text) && push_other();
      case 'S':
        if (!take_line(text)) return false;
        if (text.size() >= 2) text = text.substr(1, text.size() - 2);  // its quotes
        return push({.kind = Kind::kText, .text = text});
      case 'V':
        return take_line(text) && push({.kind = Kind::kText, .text = text});
      case 'T':
      case 'X':
        return push_counted_text(4);
      case 'U':
      case '\x8c':
        return push_counted_text(1);
      case '\x8d':
        return push_counted_text(8);
      case 'B':
        return push_counted_text(4);
      case 'C':
        return push_counted_text(1);
      case '\x8e':
      case '\x96':
        return push_counted_text(8);
      case ']':
        return push({.kind = Kind::kList});
      case 'a':
        return put_last(Kind::kList, 1);
      case 'e':
        return put_marked(Kind::kList);
      case 'l':
        return push_marked(Kind::kList);
      case ')':
        return push_shared(nothing_, Kind::kTuple);
      case 't':
        return push_marked(Kind::kTuple);
      case '\x85':
        return push_tuple(1);
      case '\x86':
        return push_tuple(2);
      case '\x87':
        return push_tuple(3);
      case '}':
        return push({.kind = Kind::kDict});
      case 'd':
        if (!push_marked(Kind::kDict)) return false;
        return pickle_.nodes_.back().items.size() % 2 == 0 || fail("has a key without a value");
      case 's':
        return put_last(Kind::kDict, 2);
      case 'u':
        return put_marked(Kind::kDict);
      case '\x8f':  // EMPTY_SET
        return push_other();
      case '\x90': {  // ADDITEMS
        std::vector<Id> items;
        return pop_marked(items) && top(item);
      }
      case '\x91': {  // FROZENSET
        std::vector<Id> items;
        return pop_marked(items) && push_other();
      }
      case 'g':
        return numbered_by_line(&Reader::recall);
      case 'h':
        return numbered(1, &Reader::recall);
      case 'j':
        return numbered(4, &Reader::recall);
      case 'p':
        return numbered_by_line(&Reader::remember);
      case 'q':
        return numbered(1, &Reader::remember);
      case 'r':
        return numbered(4, &Reader::remember);
      case '\x94':
        return remember(memo_.size() + sparse_memo_.size());
      case 'c':  // GLOBAL
        return take_line(text) && take_line(more) && push({.kind = Kind::kName, .text = text, .more = more});
      case '\x93': {  // STACK_GLOBAL
        Id name = 0, module = 0;
        if (!pop(name) || !pop(module)) return false;
        const auto &module_node = pickle_.nodes_[module], &name_node = pickle_.nodes_[name];
        if (module_node.kind != Kind::kText || name_node.kind != Kind::kText)
          return fail("names something by what is no text");
        return push({.kind = Kind::kName, .text = module_node.text, .more = name_node.text});
      }
      case 'R':     // REDUCE
      case '\x81':  // NEWOBJ
        return push_call(2);
      case '\x92':  // NEWOBJ_EX: a class, its arguments by position and its arguments by name
        return push_call(3);
      case 'o': {  // OBJ: the class and its arguments, above the mark
        std::vector<Id> items;
        if (!pop_marked(items)) return false;
        if (items.empty()) return fail("makes an object of no class");
        stack_.push_back(items.front());
        if (!push({.kind = Kind::kTuple, .items = {items.begin() + 1, items.end()}})) return false;
        return push_call(2);
      }
      case 'i': {  // INST
        Node arguments{.kind = Kind::kTuple};
        return take_line(text) && take_line(more) && pop_marked(arguments.items) &&
               push({.kind = Kind::kName, .text = text, .more = more}) && push(std::move(arguments)) && push_call(2);
      }
      case 'b':
        return build();
      case 'P':
        return take_line(text) && push({.kind = Kind::kText, .text = text}) && push_stored();
      case 'Q':
        return push_stored();
      default:
        return fail("has the opcode " + std::to_string(static_cast<unsigned char>(opcode)) + ", which is not read,");
    }
  }
  bool push_stored() {
    Id identity = 0;
    return pop(identity) && push({.kind = Kind::kStored, .items = {identity}});
  }

  const std::string_view bytes_;
  std::size_t at_ = 0, opcode_at_ = 0;
  Pickle pickle_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;  // how high the stack was
  std::vector<Id> memo_;  // of the keys 0, 1, 2, ... as they are usual; others, until the row of keys reaches them:
  std::unordered_map<std::uint64_t, Id> sparse_memo_;
  Id other_ = kUnmade, nothing_ = kUnmade;  // the nodes of all that is kOther, and of all empty tuples
  std::vector<Id> integers_;                // the nodes of small numbers
  bool is_done_ = false;
  std::string fault_;
};

Result<Pickle> Pickle::read(std::string_view bytes) { return Reader(bytes).run(); }

}  // namespace tensorstat
