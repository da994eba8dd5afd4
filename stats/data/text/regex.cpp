#include "stats/data/text/regex.hpp"

#include <string>

namespace tensorstat {
namespace {

constexpr std::size_t kMostBytes = 1024, kMostStates = 10000, kMostGroups = 64;

struct PatternRefusal {
  std::string why;
};

template <typename In>
std::bitset<256> set_of(In is_in) {
  std::bitset<256> set;
  for (unsigned c = 0; c < 256; ++c) set[c] = is_in(static_cast<unsigned char>(c));
  return set;
}

bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha(unsigned char c) { return is_lower(c) || is_upper(c); }
bool is_alnum(unsigned char c) { return is_alpha(c) || is_digit(c); }
bool is_word(unsigned char c) { return is_alnum(c) || c == '_'; }
bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_graph(unsigned char c) { return c > ' ' && c < 0x7f; }
bool is_punct(unsigned char c) { return is_graph(c) && !is_alnum(c); }
bool is_hex(unsigned char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

constexpr struct {
  std::string_view name;
  bool (*is_in)(unsigned char);
} kClasses[] = {
    {"alpha", is_alpha},
    {"digit", is_digit},
    {"alnum", is_alnum},
    {"lower", is_lower},
    {"upper", is_upper},
    {"space", is_space},
    {"punct", is_punct},
    {"graph", is_graph},
    {"xdigit", is_hex},
    {"w", is_word},
    {"d", is_digit},
    {"s", is_space},
    {"blank", [](unsigned char c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](unsigned char c) { return c < ' ' || c == 0x7f; }},
    {"print", [](unsigned char c) { return c >= ' ' && c < 0x7f; }},
};

}  // namespace

// A recursive-descent parser: alternatives of sequences of repeated atoms. States are emitted while reading.
class PatternCompiler {
 public:
  explicit PatternCompiler(std::string_view text) : text_(text) {}

  Regex run() {
    if (text_.size() > kMostBytes) refuse("it is longer than 1024 bytes");
    alternatives();
    if (at_ != text_.size()) refuse("a ) without its (");
    emit({Op::kMatch});
    return std::move(pattern_);
  }

 private:
  using Op = Regex::Op;
  using State = Regex::State;

  [[noreturn]] void refuse(std::string why) const {
    throw PatternRefusal{why + ", at character " + std::to_string(at_ + 1)};
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  unsigned char next() {
    if (at_end()) refuse("it ends too early");
    return static_cast<unsigned char>(text_[at_++]);
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(pattern_.states_.size()); }
  std::uint32_t emit(State state) {
    if (here() >= kMostStates) refuse("its repetitions unfold to more than 10000 states");
    pattern_.states_.push_back(state);
    return here() - 1;
  }
  void emit_set(const Regex::Set& set) {
    pattern_.sets_.push_back(set);
    emit({Op::kSet, static_cast<std::uint32_t>(pattern_.sets_.size() - 1)});
  }
  // Makes room before `from`; everything after it moves by one.
  void insert(std::uint32_t from, State state) {
    emit({Op::kMatch});
    auto& states = pattern_.states_;
    for (std::uint32_t i = here() - 1; i > from; --i) states[i] = moved(states[i - 1], from, 1);
    states[from] = state;
  }
  static State moved(State state, std::uint32_t from, std::uint32_t by) {
    for (auto& to : state.to) to += to >= from ? by : 0;
    return state;
  }

  void alternatives() {
    const auto begin = here();
    sequence();
    while (take("|")) {
      insert(begin, {Op::kFork, 0, {begin + 1, here() + 2}});
      const auto jump = emit({Op::kJump});
      sequence();
      pattern_.states_[jump].to[0] = here();
    }
  }

  void sequence() {
    while (!at_end() && peek() != '|' && peek() != ')') {
      const auto begin = here();
      const bool repeatable = atom();
      repetition(begin, repeatable);
    }
  }

  // False for ^ $ \b \B, which cannot be repeated.
  bool atom() {
    const char c = text_[at_];
    if (take("^")) return emit({Op::kBegin}), false;
    if (take("$")) return emit({Op::kEnd}), false;
    if (take("\\b")) return emit({Op::kBorder}), false;
    if (take("\\B")) return emit({Op::kNoBorder}), false;
    if (take("(")) {
      if (take("?") && !take(":")) refuse("look-ahead and other (?...) are not supported");
      if (++groups_ > kMostGroups) refuse("groups are nested deeper than 64");
      alternatives();
      --groups_;
      if (!take(")")) refuse("a ( without its )");
    } else if (take("[")) {
      bracket();
    } else if (take(".")) {
      emit_set(set_of([](unsigned char b) { return b != '\n' && b != '\r'; }));
    } else if (take("\\")) {
      emit_set(escape());
    } else if (c == '*' || c == '+' || c == '?' || c == '{' || c == '}') {
      refuse("nothing stands before the repetition");
    } else {
      Regex::Set one;
      emit_set(one.set(next()));
    }
    return true;
  }

  Regex::Set escape() {
    Regex::Set set;
    const unsigned char c = next();
    switch (c) {
      case 'd':
        return set_of(is_digit);
      case 'D':
        return ~set_of(is_digit);
      case 'w':
        return set_of(is_word);
      case 'W':
        return ~set_of(is_word);
      case 's':
        return set_of(is_space);
      case 'S':
        return ~set_of(is_space);
      case 't':
        return set.set('\t');
      case 'n':
        return set.set('\n');
      case 'r':
        return set.set('\r');
      case 'f':
        return set.set('\f');
      case 'v':
        return set.set('\v');
      case '0':
        return set.set('\0');
      case 'x':
        return set.set(16 * hex_digit() + hex_digit());
      default:
        break;
    }
    if (is_digit(c)) refuse("back references are not supported");
    if (is_alpha(c)) refuse(std::string("the escape \\") + static_cast<char>(c) + " is unknown");
    return set.set(c);
  }

  unsigned hex_digit() {
    const unsigned char c = next();
    if (!is_hex(c)) refuse("\\x wants two hexadecimal digits");
    return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10u;
  }

  void bracket() {
    const bool negated = take("^");
    Regex::Set set;
    while (!take("]")) {
      const Regex::Set low = bracket_item();
      if (low.count() == 1 && peek() == '-' && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        const Regex::Set high = bracket_item();
        const std::size_t first = lowest(low), last = lowest(high);
        if (high.count() != 1 || last < first) refuse("a range in [ ] that is none");
        for (std::size_t b = first; b <= last; ++b) set.set(b);
      } else {
        set |= low;
      }
    }
    emit_set(negated ? ~set : set);
  }

  static std::size_t lowest(const Regex::Set& set) {
    std::size_t b = 0;
    while (b < 255 && !set[b]) ++b;
    return b;
  }

  Regex::Set bracket_item() {
    if (take("[:")) {
      const auto end = text_.find(":]", at_);
      const auto name = text_.substr(at_, end == text_.npos ? 0 : end - at_);
      for (const auto& known : kClasses) {
        if (known.name != name) continue;
        at_ = end + 2;
        return set_of(known.is_in);
      }
      refuse("an unknown class in [: :]");
    }
    if (take("[.") || take("[=")) refuse("[. .] and [= =] are not supported");
    Regex::Set set;
    if (take("\\b")) return set.set('\b');
    if (take("\\")) return escape();
    return set.set(next());
  }

  void repetition(std::uint32_t begin, bool repeatable) {
    std::size_t least = 1, most = 1;
    if (take("*")) {
      least = 0, most = kUnbounded;
    } else if (take("+")) {
      most = kUnbounded;
    } else if (take("?")) {
      least = 0;
    } else if (take("{")) {
      least = most = number();
      if (take(",")) most = peek() == '}' ? kUnbounded : number();
      if (!take("}") || most < least) refuse("a { } that is no repetition");
    } else {
      return;
    }
    if (!repeatable) refuse("^, $, \\b and \\B cannot be repeated");
    take("?");  // laziness does not matter: only whether the whole text matches
    unfold(begin, least, most);
  }

  std::size_t number() {
    std::size_t value = 0;
    if (!is_digit(static_cast<unsigned char>(peek()))) refuse("a number is missing in { }");
    while (is_digit(static_cast<unsigned char>(peek()))) {
      value = 10 * value + (next() - '0');
      if (value > kMostStates) refuse("its repetitions unfold to more than 10000 states");
    }
    return value;
  }

  // Replaces the atom that starts at `begin` by `least` copies, followed by a loop or by optional copies.
  void unfold(std::uint32_t begin, std::size_t least, std::size_t most) {
    const std::vector<State> atom(pattern_.states_.begin() + begin, pattern_.states_.end());
    pattern_.states_.resize(begin);
    const auto emit_atom = [&] {
      const std::uint32_t by = here() - begin;
      for (const State& state : atom) emit(moved(state, begin, by));
    };
    for (std::size_t i = 0; i < least; ++i) emit_atom();
    if (most == kUnbounded) {
      const auto fork = emit({Op::kFork, 0, {here() + 1, 0}});
      emit_atom();
      emit({Op::kJump, 0, {fork, 0}});
      pattern_.states_[fork].to[1] = here();
      return;
    }
    for (std::size_t i = least; i < most; ++i) {
      const auto fork = emit({Op::kFork, 0, {here() + 1, 0}});
      emit_atom();
      pattern_.states_[fork].to[1] = here();
    }
  }

  static constexpr std::size_t kUnbounded = static_cast<std::size_t>(-1);

  std::string_view text_;
  std::size_t at_ = 0, groups_ = 0;
  Regex pattern_;
};

Result<Regex> Regex::compile(std::string_view text) {
  try {
    return PatternCompiler(text).run();
  } catch (const PatternRefusal& refusal) {
    return Error{Code::kInvalid, refusal.why};
  }
}

Regex Regex::for_escaped_names() const {
  Regex escaped = *this;
  for (Set& set : escaped.sets_) {
    for (const unsigned char c : {'/', '\\', '.', ' '}) set['_'] = set['_'] || set[c];
  }
  return escaped;
}

bool Regex::matches(std::string_view text) const {
  std::vector<std::uint32_t> now, next, open;
  std::vector<std::size_t> seen(states_.size(), 0);  // the last position, from 1, at which each state was reached
  const auto word_at = [&](std::size_t position) {
    return position < text.size() && is_word(static_cast<unsigned char>(text[position]));
  };
  const auto holds = [&](Op op, std::size_t position) {
    const bool border = word_at(position) != (position != 0 && word_at(position - 1));
    switch (op) {
      case Op::kBegin:
        return position == 0;
      case Op::kEnd:
        return position == text.size();
      case Op::kBorder:
        return border;
      default:
        return !border;
    }
  };
  bool matched = false;
  // Follows all transitions that consume no byte.
  const auto reach = [&](std::uint32_t start, std::size_t position, std::vector<std::uint32_t>& into) {
    for (open.assign(1, start); !open.empty();) {
      const auto index = open.back();
      open.pop_back();
      if (seen[index] == position + 1) continue;
      seen[index] = position + 1;
      const State& state = states_[index];
      if (state.op == Op::kSet) {
        into.push_back(index);
      } else if (state.op == Op::kMatch) {
        matched = position == text.size();
      } else if (state.op == Op::kFork || state.op == Op::kJump) {
        open.push_back(state.to[0]);
        if (state.op == Op::kFork) open.push_back(state.to[1]);
      } else if (holds(state.op, position)) {
        open.push_back(index + 1);
      }
    }
  };
  reach(0, 0, now);
  for (std::size_t position = 0; position < text.size() && !now.empty(); ++position) {
    next.clear();
    for (const auto index : now) {
      if (sets_[states_[index].set][static_cast<unsigned char>(text[position])]) {
        reach(index + 1, position + 1, next);
      }
    }
    now.swap(next);
  }
  return matched;
}

}  // namespace tensorstat
