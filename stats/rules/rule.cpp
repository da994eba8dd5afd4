#include "stats/rules/rule.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "stats/base/printable.hpp"
#include "stats/files/tensor_reader.hpp"
#include "stats/rules/facts.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostDepth = 100;  // limit of nested parentheses and nots; each takes a stack frame

struct Token {
  enum class Kind { kWord, kQuoted, kOperator, kGlob, kOpen, kClose, kComma, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text = {};   // without quotes
  std::size_t at = 0, end = 0;  // offsets in the whole text
  Comparison comparison = {};

  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
  std::string words() const { return kind == Kind::kEnd ? "the end" : in_quotes(text); }
};

// The error for an invalid rule: what is wrong, and at which character, from 1.
Error invalid(std::string what, std::size_t at) {
  return {Code::kInvalid, std::move(what) + "; at character " + std::to_string(at + 1)};
}

Token token_at(std::string_view text, std::size_t at, bool has_commas) {
  const std::string_view rest = text.substr(at);
  const auto token = [&](Token::Kind kind, std::size_t length) {
    return Token{kind, rest.substr(0, length), at, at + length};
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
      return {Token::Kind::kQuoted, rest.substr(1, end - 1), at, at + end + 1};
    }
  }
  if (has_commas && rest[0] == ',') return token(Token::Kind::kComma, 1);
  if (const Operator* found = operator_at(rest)) {
    return {Token::Kind::kOperator, found->text, at, at + found->text.size(), found->comparison};
  }
  return token(Token::Kind::kWord,
               std::min(rest.find_first_of(has_commas ? " \t\n()<>=!~'\"," : " \t\n()<>=!~'\""), rest.size()));
}

Result<std::vector<Token>> tokens_of(std::string_view text, bool has_commas) {
  std::vector<Token> tokens;
  for (std::size_t at = 0;; at = tokens.back().end) {
    at = std::min(text.find_first_not_of(" \t\n", at), text.size());
    if (at == text.size()) break;
    tokens.push_back(token_at(text, at, has_commas));
    const Token& token = tokens.back();
    if (token.end > text.size()) return invalid("the quote at '" + shown(text.substr(at)) + "' does not end", at);
    if (token.kind == Token::Kind::kWord && token.text.empty()) {
      return invalid(in_quotes(text.substr(at)) + " begins with no operator: these are > >= < <= == != and ~", at);
    }
  }
  tokens.push_back({Token::Kind::kEnd, {}, text.size(), text.size()});
  return tokens;
}

// The value, or nullptr if the row has none.
const Value* known(const StatisticsView& statistics, Category category) {
  const Value* value = statistics.find(category);
  return value != nullptr && *value != Value() ? value : nullptr;
}

}  // namespace

Rule Rule::word(std::string_view text, Categories counts) {
  Rule word(Kind::kCounts);
  word.text_ = text;
  word.counts_ = std::move(counts);
  return word;
}

Rule Rule::nan() { return word("nan", {Category::kNanCount}); }
Rule Rule::inf() { return word("inf", {Category::kNegativeInfCount, Category::kPositiveInfCount}); }

class Rule::Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens, About about)
      : text_(text), tokens_(std::move(tokens)), about_(about) {}

  Result<Rule> whole() {
    const std::size_t begin = peek().at;
    auto rule = any();
    if (!rule) return rule;
    if (peek().kind != Token::Kind::kEnd && peek().kind != Token::Kind::kComma) {
      return invalid("and or or is missing before " + peek().words(), peek().at);
    }
    const std::size_t end = next_ == 0 ? begin : tokens_[next_ - 1].end;
    rule->text_ = text_.substr(begin, end - begin);
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
      all.parts_.push_back(*std::move(next));
    } while (take_word(separator));
    return all.parts_.size() == 1 ? std::move(all.parts_.front()) : std::move(all);
  }
  Result<Rule> any() { return list(Kind::kAny, "or", &Parser::all); }
  Result<Rule> all() { return list(Kind::kAll, "and", &Parser::one); }

  Result<Rule> one() {
    if (++depth_ > kMostDepth) {
      return invalid("more than " + std::to_string(kMostDepth) + " parentheses and nots", peek().at);
    }
    auto found = take_word("not") ? negation() : peek().kind == Token::Kind::kOpen ? parenthesis() : comparison();
    --depth_;
    return found;
  }

  Result<Rule> negation() {
    auto negated = one();
    if (!negated) return negated;
    Rule none(Kind::kNot);
    none.parts_.push_back(*std::move(negated));
    return none;
  }

  Result<Rule> parenthesis() {
    take();
    auto inner = any();
    if (!inner) return inner;
    if (peek().kind != Token::Kind::kClose) return invalid("')' is missing before " + peek().words(), peek().at);
    take();
    return inner;
  }

  Result<Rule> comparison() {
    const std::size_t at = peek().at;
    std::string name;  // of one or more words
    while (peek().kind == Token::Kind::kWord && !peek().is_word("and") && !peek().is_word("or")) {
      name.append(name.empty() ? "" : " ").append(take().text);
    }
    if (name.empty()) return invalid("a statistic or a fact is missing before " + peek().words(), at);
    const Token compared = peek();
    if (compared.kind != Token::Kind::kOperator && compared.kind != Token::Kind::kGlob) {
      if (name == "nan") return Rule::nan();
      if (name == "inf") return Rule::inf();
      return invalid(in_quotes(name) + " is neither nan, inf nor a comparison, such as max > 1", at);
    }
    take();
    auto subject = subject_from(name, about_);
    if (!subject) return invalid(subject.error().message, at);
    const Token value = peek();
    if (value.kind != Token::Kind::kWord && value.kind != Token::Kind::kQuoted) {
      return invalid(missing_value(name + " " + std::string(compared.text), is_text(*subject), value), value.at);
    }
    take();
    return is_text(*subject) ? text(name, *subject, compared, value) : number(name, *subject, compared, value);
  }

  // `before` is what stands before the value, such as "shape ==".
  std::string missing_value(const std::string& before, bool wants_text, const Token& found) const {
    const std::string_view rest = text_.substr(found.at);
    const std::size_t close = rest.find(')');
    if (wants_text && found.kind == Token::Kind::kOpen && close != rest.npos) {
      return "put the text in quotes: " + shown(before) + " \"" + shown(rest.substr(0, close + 1)) + "\"";
    }
    return std::string(wants_text ? "a text" : "a number") + " should follow " + in_quotes(before) + ", and " +
           found.words() + " does";
  }

  static Result<Rule> number(const std::string& name, const Subject& subject, const Token& compared,
                             const Token& value) {
    if (compared.kind == Token::Kind::kGlob) {
      return invalid(in_quotes(name) + " is a number, and ~ compares texts", compared.at);
    }
    Rule number(Kind::kNumber);
    number.subject_ = subject;
    number.comparison_ = compared.comparison;
    number.bound_ = bound_from(value.text);
    if (!std::holds_alternative<std::monostate>(number.bound_.nearest)) return number;
    const bool is_nan = value.text == "nan" || value.text == "-nan";
    return invalid(in_quotes(name) + " is a number, and " + value.words() + " is none" +
                       (is_nan ? ": say nan alone, or nan > 0" : ""),
                   value.at);
  }

  static Result<Rule> text(const std::string& name, const Subject& subject, const Token& compared, const Token& value) {
    const bool is_glob = compared.kind == Token::Kind::kGlob;
    if (!is_glob && compared.comparison != Comparison::kEqual && compared.comparison != Comparison::kUnequal) {
      return invalid(in_quotes(name) + " is a text: == and != compare it, and ~ with a glob", compared.at);
    }
    if (name == "dtype" && !is_glob && !is_data_type(value.text)) {
      return invalid(value.words() + " is no dtype; float32 is one", value.at);
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
  std::size_t next_ = 0, depth_ = 0;
};

Result<Rule> Rule::parse(std::string_view text, About about) {
  auto tokens = tokens_of(text, false);
  if (!tokens) return tokens.error();
  return Parser(text, *std::move(tokens), about).whole();
}

Result<std::vector<Rule>> Rule::parse_list(std::string_view text) {
  auto tokens = tokens_of(text, true);
  if (!tokens) return tokens.error();
  Parser parser(text, *std::move(tokens), About::kTensors);
  std::vector<Rule> rules;
  do {
    auto rule = parser.whole();
    if (!rule) return rule.error();
    rules.push_back(*std::move(rule));
  } while (parser.take_comma());
  return rules;
}

Categories Rule::needed(bool with_words) const {
  if (kind_ == Kind::kCounts) return with_words ? counts_ : Categories();
  Categories all;
  if (parts_.empty() && (with_words || !is_word(subject_))) all = needed_by(subject_);
  for (const Rule& part : parts_) {
    const Categories more = part.needed(with_words);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<Subject> Rule::subjects() const {
  std::vector<Subject> all;
  if (kind_ == Kind::kNumber || kind_ == Kind::kText || kind_ == Kind::kGlob) all.push_back(subject_);
  for (const Rule& part : parts_) {
    const std::vector<Subject> more = part.subjects();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::string Rule::advice() const {
  const bool has_wildcard = wanted_.find_first_of("*?[") != wanted_.npos;
  if (kind_ == Kind::kText && comparison_ == Comparison::kEqual && has_wildcard)
    return "== compares whole texts, and ~ takes a glob";
  if (kind_ == Kind::kGlob && !has_wildcard) return "~ wants a glob of the whole text: \"*" + shown(wanted_) + "*\"";
  for (const Rule& part : parts_) {
    if (std::string advice = part.advice(); !advice.empty()) return advice;
  }
  return {};
}

const Category* Rule::met_count(const StatisticsView& statistics) const {
  for (const Category& count : counts_) {
    if (const Value* value = known(statistics, count)) {
      if (holds(order_of(*value, std::uint64_t{0}), Comparison::kAbove)) return &count;
      continue;
    }
    for (const Category& category : kTelling) {
      const Value* value = statistics.find(category);
      if (value != nullptr && tells(count, category, *value)) return &category;
    }
  }
  return nullptr;
}

bool Rule::is_met_by(const TensorRow& row) const {
  const auto is_met = [&](const Rule& part) { return part.is_met_by(row); };
  switch (kind_) {
    case Kind::kAny:
      return std::ranges::any_of(parts_, is_met);
    case Kind::kAll:
      return std::ranges::all_of(parts_, is_met);
    case Kind::kNot:
      return !is_met(parts_.front());
    case Kind::kCounts:
      return met_count(row.row.statistics) != nullptr ||
             (row.paired != nullptr && met_count(row.paired->statistics) != nullptr);
    case Kind::kNumber:
      return holds(order_of(number_of(row, subject_), bound_), comparison_);
    case Kind::kText:
      return (text_of(row, subject_) == wanted_) == (comparison_ == Comparison::kEqual);
    case Kind::kGlob:
      return ::fnmatch(wanted_.c_str(), text_of(row, subject_).c_str(), 0) == 0;
  }
  return false;
}

std::string Rule::evidence(const TensorRow& row) const {
  std::string text;
  add_evidence(row, text);
  return text;
}

void Rule::add_evidence(const TensorRow& row, std::string& text) const {
  if (!is_met_by(row)) return;
  const auto add = [&](std::string_view name, const Value& value) {
    text.append(text.empty() ? "" : ", ").append(name).append(" is ").append(to_string(value));
  };
  if (kind_ == Kind::kCounts) {
    const Category* in_a = met_count(row.row.statistics);
    const StatisticsView of = in_a ? StatisticsView(row.row.statistics) : row.paired->statistics;
    const Category by = in_a ? *in_a : *met_count(of);
    add(name(by), *of.find(by));
  } else if (kind_ == Kind::kNumber) {
    add(name_of(subject_), number_of(row, subject_));
  } else if (kind_ != Kind::kNot) {
    for (const Rule& part : parts_) part.add_evidence(row, text);
  }
}

}  // namespace tensorstat
