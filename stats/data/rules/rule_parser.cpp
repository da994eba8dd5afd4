// The parser of rules: a text becomes tokens, and these a tree.

#include <algorithm>
#include <charconv>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/rules/rule.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostDepth = 100;  // limit of nested parentheses and nots; each takes a stack frame

struct Token {
  enum class Kind { kWord, kQuoted, kOperator, kGlob, kOpen, kClose, kComma, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text = {};      // without quotes
  std::size_t begin = 0, end = 0;  // offsets in the whole text
  Comparison comparison = {};

  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
  std::string words() const { return kind == Kind::kEnd ? "the end" : in_quotes(text); }
};

// An error for an invalid rule: the cause, and the character, counted from 1.
Error invalid(std::string what, std::size_t offset) {
  return {Code::kInvalid, std::move(what) + "; at character " + std::to_string(offset + 1)};
}

Token token_at(std::string_view text, std::size_t begin, bool has_commas) {
  const std::string_view rest = text.substr(begin);
  const auto token = [&](Token::Kind kind, std::size_t length) {
    return Token{kind, rest.substr(0, length), begin, begin + length};
  };
  switch (rest[0]) {
    case '(':
      return token(Token::Kind::kOpen, 1);
    case ')':
      return token(Token::Kind::kClose, 1);
    case '~':
      return token(Token::Kind::kGlob, 1);
    case '\'':
    case '"': {
      const std::size_t end = std::min(rest.find(rest[0], 1), rest.size());
      return {Token::Kind::kQuoted, rest.substr(1, end - 1), begin, begin + end + 1};
    }
  }
  if (has_commas && rest[0] == ',') return token(Token::Kind::kComma, 1);
  if (const Operator* match = operator_at(rest)) {
    return {Token::Kind::kOperator, match->text, begin, begin + match->text.size(), match->comparison};
  }
  return token(Token::Kind::kWord,
               std::min(rest.find_first_of(has_commas ? " \t\n()<>=!~'\"," : " \t\n()<>=!~'\""), rest.size()));
}

// "median" of "median" or "8*median"
std::optional<WindowOf> window_at_end_of(const Token& token) {
  if (token.kind != Token::Kind::kWord) return std::nullopt;
  const std::size_t star = token.text.rfind('*');
  return window_named(star == token.text.npos ? token.text : token.text.substr(star + 1));
}

Result<std::vector<Token>> tokens_of(std::string_view text, bool has_commas) {
  std::vector<Token> tokens;
  bool is_in_window = false;  // inside its parentheses a comma ends a word
  for (std::size_t begin = 0;; begin = tokens.back().end) {
    begin = std::min(text.find_first_not_of(" \t\n", begin), text.size());
    if (begin == text.size()) break;
    tokens.push_back(token_at(text, begin, has_commas || is_in_window));
    const Token& token = tokens.back();
    if (token.kind == Token::Kind::kOpen) is_in_window = tokens.size() > 1 && window_at_end_of(tokens.end()[-2]);
    if (token.kind == Token::Kind::kClose) is_in_window = false;
    if (token.end > text.size()) return invalid("the quote at '" + shown(text.substr(begin)) + "' does not end", begin);
    if (token.kind == Token::Kind::kWord && token.text.empty()) {
      return invalid(in_quotes(text.substr(begin)) + " begins with no operator: these are > >= < <= == != and ~",
                     begin);
    }
  }
  tokens.push_back({Token::Kind::kEnd, {}, text.size(), text.size()});
  return tokens;
}

}  // namespace

class Rule::Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens, About about, Earlier earlier)
      : text_(text), tokens_(std::move(tokens)), about_(about), earlier_(earlier) {}

  Result<Rule> whole() {
    const std::size_t begin = peek().begin;
    windows_.clear();
    for_count_ = 0;
    auto rule = any();
    if (!rule) return rule;
    if (peek().kind != Token::Kind::kEnd && peek().kind != Token::Kind::kComma) {
      return invalid("and or or is missing before " + peek().words(), peek().begin);
    }
    const std::size_t end = next_ == 0 ? begin : tokens_[next_ - 1].end;
    rule->text_ = text_.substr(begin, end - begin);
    rule->windows_ = std::move(windows_);
    rule->for_count_ = for_count_;
    return rule;
  }
  bool take_comma() {
    const bool is_there = peek().kind == Token::Kind::kComma;
    next_ += is_there;
    return is_there;
  }

 private:
  const Token& peek() const { return tokens_[next_]; }
  const Token& take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }
  bool take_word(std::string_view word) {
    const bool is_there = peek().is_word(word);
    next_ += is_there;
    return is_there;
  }

  Result<Rule> list(Kind kind, std::string_view separator, Result<Rule> (Parser::*part)()) {
    Rule all(kind);
    do {
      auto next = (this->*part)();
      if (!next) return next;
      all.keeps_rows_ |= next->keeps_rows_;
      all.parts_.push_back(*std::move(next));
    } while (take_word(separator));
    return all.parts_.size() == 1 ? std::move(all.parts_.front()) : std::move(all);
  }
  Result<Rule> any() { return list(Kind::kAny, "or", &Parser::all); }
  Result<Rule> all() { return list(Kind::kAll, "and", &Parser::one); }

  Result<Rule> one() {
    if (++depth_ > kMostDepth) {
      return invalid("more than " + std::to_string(kMostDepth) + " parentheses and nots", peek().begin);
    }
    auto rule = take_word("not") ? negation() : peek().kind == Token::Kind::kOpen ? parenthesis() : comparison();
    --depth_;
    return rule && peek().is_word("for") ? for_steps(*std::move(rule)) : std::move(rule);
  }

  // A whole number of steps, from 1.
  Result<std::uint32_t> number_of_steps(const std::string& before) {
    const Token count = peek();
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(count.text.data(), count.text.data() + count.text.size(), number);
    const bool is_whole = error == std::errc() && end == count.text.data() + count.text.size();
    if (count.kind != Token::Kind::kWord || !is_whole || number == 0 || number > Window::kMostSteps) {
      return invalid("a number of steps from 1 to " + std::to_string(Window::kMostSteps) + " should follow " +
                         in_quotes(before) + ", and " + count.words() + " does",
                     count.begin);
    }
    take();
    return number;
  }

  Error needs_earlier(const std::string& what, std::size_t offset) const {
    return invalid(what + " asks about earlier steps of the tensor: alerts, top --until and attach --fail-on know them",
                   offset);
  }

  Result<Rule> for_steps(Rule condition) {
    const std::size_t begin = take().begin;
    if (earlier_ == Earlier::kUnknown) return needs_earlier("for", begin);
    const auto steps = number_of_steps("for");
    if (!steps) return steps.error();
    if (!take_word("steps") && !take_word("step")) {
      return invalid("steps should follow 'for " + std::to_string(*steps) + "', and " + peek().words() + " does",
                     peek().begin);
    }
    Rule rule(Kind::kFor);
    rule.parts_.push_back(std::move(condition));
    rule.keeps_rows_ = true;
    rule.steps_ = *steps;
    rule.row_count_at_ = for_count_++;
    return rule;
  }

  Result<Rule> negation() {
    auto negated = one();
    if (!negated) return negated;
    Rule none(Kind::kNot);
    none.keeps_rows_ = negated->keeps_rows_;
    none.parts_.push_back(*std::move(negated));
    return none;
  }

  Result<Rule> parenthesis() {
    take();
    auto inner = any();
    if (!inner) return inner;
    if (peek().kind != Token::Kind::kClose) return invalid("')' is missing before " + peek().words(), peek().begin);
    take();
    return inner;
  }

  static bool is_part_of_a_name(const Token& token) {
    return token.kind == Token::Kind::kWord && !token.is_word("and") && !token.is_word("or") && !token.is_word("for");
  }

  // "differs over dp"
  Result<Rule> difference() {
    const std::size_t begin = take().begin;
    if (!take_word("over")) {
      return invalid("over and a group of ranks should follow 'differs', and " + peek().words() + " does",
                     peek().begin);
    }
    const Token group = peek();
    if (group.kind != Token::Kind::kWord && group.kind != Token::Kind::kQuoted) {
      return invalid("a group of ranks should follow 'differs over', and " + group.words() + " does", group.begin);
    }
    if (earlier_ != Earlier::kKeptWithReplicas) {
      return invalid("differs over asks other ranks for their replicas, which only alerts do", begin);
    }
    take();
    Rule differs(Kind::kDiffers);
    differs.wanted_ = group.text;
    return differs;
  }

  Result<Rule> comparison() {
    if (peek().is_word("differs")) return difference();
    const std::size_t begin = peek().begin;
    std::string name;  // of one or more words
    while (is_part_of_a_name(peek())) name.append(name.empty() ? "" : " ").append(take().text);
    if (name.empty()) return invalid("a statistic or a fact is missing before " + peek().words(), begin);
    const Token compared = peek();
    if (compared.kind != Token::Kind::kOperator && compared.kind != Token::Kind::kGlob) {
      if (name == "nan") return Rule::nan();
      if (name == "inf") return Rule::inf();
      return invalid(in_quotes(name) + " is neither nan, inf nor a comparison, such as max > 1", begin);
    }
    take();
    auto subject = subject_from(name, about_);
    if (!subject) return invalid(subject.error().message, begin);
    const Token value = peek();
    if (value.kind != Token::Kind::kWord && value.kind != Token::Kind::kQuoted) {
      return invalid(missing_value(name + " " + std::string(compared.text), is_text(*subject), value), value.begin);
    }
    take();
    return is_text(*subject) ? text(name, *subject, compared, value) : number(name, *subject, compared, value);
  }

  // `before` is what stands before the value, such as "shape ==".
  std::string missing_value(const std::string& before, bool wants_text, const Token& token) const {
    const std::string_view rest = text_.substr(token.begin);
    const std::size_t close = rest.find(')');
    if (wants_text && token.kind == Token::Kind::kOpen && close != rest.npos) {
      return "put the text in quotes: " + shown(before) + " \"" + shown(rest.substr(0, close + 1)) + "\"";
    }
    return std::string(wants_text ? "a text" : "a number") + " should follow " + in_quotes(before) + ", and " +
           token.words() + " does";
  }

  Result<Rule> number(const std::string& name, const Subject& subject, const Token& compared, const Token& value) {
    if (compared.kind == Token::Kind::kGlob) {
      return invalid(in_quotes(name) + " is a number, and ~ compares texts", compared.begin);
    }
    Rule number(Kind::kNumber);
    number.subject_ = subject;
    number.comparison_ = compared.comparison;
    number.bound_ = bound_from(value.text);
    const bool is_number = !std::holds_alternative<std::monostate>(number.bound_.nearest);
    const bool has_factor = value.kind == Token::Kind::kWord &&
                            (value.text.find('*') != value.text.npos || (is_number && peek().text.starts_with('*')));
    // "nan count", "inf b": the first word of a name.
    const bool begins_name =
        value.kind == Token::Kind::kWord && (value.text == "nan" || value.text == "inf") && is_part_of_a_name(peek());
    if (is_number && !has_factor && !begins_name) return number;
    const bool is_nan = !begins_name && (value.text == "nan" || value.text == "-nan");
    if (value.kind == Token::Kind::kQuoted || is_nan) {
      return invalid(in_quotes(name) + " is a number, and " + value.words() + " is none" +
                         (is_nan ? ": say nan alone, or nan > 0" : ""),
                     value.begin);
    }
    auto other = this->other(name, value);
    if (!other) return other.error();
    number.keeps_rows_ = other->window.has_value();
    number.other_ = *std::move(other);
    return number;
  }

  // Parses a right side that is not a number: "8 * median(l2norm, 50)", "count". `first` is its first word, already
  // taken.
  Result<Other> other(const std::string& name, const Token& first) {
    std::string words(first.text);
    while (is_part_of_a_name(peek())) words.append(" ").append(take().text);
    Other other;
    const std::size_t star = words.find('*');
    if (star != words.npos) {
      const std::string factor = words.substr(0, words.find_last_not_of(" *", star) + 1);
      const Value number = number_from(factor);
      if (std::holds_alternative<std::monostate>(number)) {
        return invalid("a number should stand before *, and " + in_quotes(factor) + " does", first.begin);
      }
      other.factor = as_double(number);
      words.erase(0, std::min(words.find_first_not_of(' ', star + 1), words.size()));
    }
    const auto kind = peek().kind == Token::Kind::kOpen ? window_named(words) : std::nullopt;
    if (kind) return window(*kind, words, first.begin, other);
    const auto subject = subject_from(words, about_);
    if (!subject || is_text(*subject)) {
      return invalid(in_quotes(name) + " is a number, and " + in_quotes(words) +
                         (subject ? " is a text" : " is none, and no statistic"),
                     first.begin);
    }
    other.subject = *subject;
    return other;
  }

  // "(l2norm, 50)"
  Result<Other> window(WindowOf kind, const std::string& word, std::size_t begin, Other other) {
    if (earlier_ == Earlier::kUnknown) return needs_earlier(word + "()", begin);
    take();
    const std::size_t name_at = peek().begin;
    std::string name;
    while (is_part_of_a_name(peek())) name.append(name.empty() ? "" : " ").append(take().text);
    auto subject = subject_from(name, about_);
    if (!subject) return invalid(subject.error().message, name_at);
    if (is_text(*subject)) return invalid(word + "() is of a number, and " + in_quotes(name) + " is a text", name_at);
    other.subject = *subject;
    std::uint32_t size = 1;
    if (take_comma()) {
      const auto steps = number_of_steps(word + "(" + name + ",");
      if (!steps) return steps.error();
      size = *steps;
    } else if (kind != WindowOf::kPrevious) {
      return invalid("the number of steps is missing: " + word + "(" + name + ", 50)", peek().begin);
    }
    if (peek().kind != Token::Kind::kClose) return invalid("')' is missing before " + peek().words(), peek().begin);
    take();
    other.window = windows_.size();
    windows_.emplace_back(kind, size);
    return other;
  }

  static Result<Rule> text(const std::string& name, const Subject& subject, const Token& compared, const Token& value) {
    const bool is_glob = compared.kind == Token::Kind::kGlob;
    if (!is_glob && compared.comparison != Comparison::kEqual && compared.comparison != Comparison::kUnequal) {
      return invalid(in_quotes(name) + " is a text: == and != compare it, and ~ with a glob", compared.begin);
    }
    if (name == "dtype" && !is_glob && !is_data_type(value.text)) {
      return invalid(value.words() + " is no dtype; float32 is one", value.begin);
    }
    Rule text(is_glob ? Kind::kGlob : Kind::kText);
    text.subject_ = subject;
    text.comparison_ = compared.comparison;
    text.wanted_ = value.text;
    return text;
  }

  const std::string_view text_;
  const std::vector<Token> tokens_;  // the last token is kEnd
  const About about_;
  const Earlier earlier_;
  std::size_t next_ = 0, depth_ = 0, for_count_ = 0;
  std::vector<Window> windows_;
};

Result<Rule> Rule::parse(std::string_view text, About about, Earlier earlier) {
  auto tokens = tokens_of(text, false);
  if (!tokens) return tokens.error();
  return Parser(text, *std::move(tokens), about, earlier).whole();
}

Result<std::vector<Rule>> Rule::parse_list(std::string_view text, Earlier earlier) {
  auto tokens = tokens_of(text, true);
  if (!tokens) return tokens.error();
  Parser parser(text, *std::move(tokens), About::kTensors, earlier);
  std::vector<Rule> rules;
  do {
    auto rule = parser.whole();
    if (!rule) return rule.error();
    rules.push_back(*std::move(rule));
  } while (parser.take_comma());
  return rules;
}

}  // namespace tensorstat
