#include "stats/cli/where.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "stats/files/shown.hpp"
#include "stats/files/tensor_reader.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::size_t kMostDepth = 100;  // of parentheses and nots, which take a frame of the stack each

struct Token {
  enum class Kind { kWord, kQuoted, kOperator, kGlob, kOpen, kClose, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text = {};  // of a quoted one without its quotes
  Comparison comparison = {};

  bool is_word(std::string_view word) const { return kind == Kind::kWord && text == word; }
  std::string words() const { return kind == Kind::kEnd ? "the end" : "'" + shown(text) + "'"; }
};

Result<std::vector<Token>> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
    if (text.empty()) return tokens;
    Token token{Token::Kind::kWord, text.substr(0, 1)};
    std::size_t length = 1;
    if (text[0] == '(' || text[0] == ')') {
      token.kind = text[0] == '(' ? Token::Kind::kOpen : Token::Kind::kClose;
    } else if (text[0] == '~') {
      token.kind = Token::Kind::kGlob;
    } else if (text[0] == '\'' || text[0] == '"') {
      const std::size_t end = text.find(text[0], 1);
      if (end == text.npos) return invalid("the quote at '" + shown(text) + "' does not end");
      token = {Token::Kind::kQuoted, text.substr(1, end - 1)};
      length = end + 1;
    } else if (const Operator* found = operator_at(text)) {
      token = {Token::Kind::kOperator, found->text, found->comparison};
      length = found->text.size();
    } else if (text[0] == '=' || text[0] == '!') {
      return invalid("'" + shown(text) + "' begins with no operator: these are > >= < <= == != and ~");
    } else {
      length = std::min(text.find_first_of(" \t\n()<>=!~'\""), text.size());
      token.text = text.substr(0, length);
    }
    tokens.push_back(token);
    text.remove_prefix(length);
  }
}

}  // namespace

Where Where::any_of(std::vector<Condition> conditions) {
  Where word(Kind::kWord);
  word.conditions_ = std::move(conditions);
  return word;
}

struct Where::Parser {
  std::vector<Token> tokens;
  std::size_t at = 0, depth = 0;

  Token peek() const { return at < tokens.size() ? tokens[at] : Token(); }
  Token take() {
    const Token token = peek();
    ++at;
    return token;
  }
  bool take_word(std::string_view word) {
    const bool is_there = peek().is_word(word);
    at += is_there;
    return is_there;
  }

  Result<Where> list(Kind kind, std::string_view separator, Result<Where> (Parser::*part)()) {
    Where all(kind);
    do {
      auto next = (this->*part)();
      if (!next) return next.error();
      all.parts_.push_back(*std::move(next));
    } while (take_word(separator));
    return all.parts_.size() == 1 ? std::move(all.parts_.front()) : std::move(all);
  }
  Result<Where> wanted() { return list(Kind::kAny, "or", &Parser::all); }
  Result<Where> all() { return list(Kind::kAll, "and", &Parser::one); }

  Result<Where> one() {
    if (++depth > kMostDepth) return invalid("more than " + std::to_string(kMostDepth) + " parentheses and nots");
    if (take_word("not")) {
      auto negated = one();
      if (!negated) return negated.error();
      Where none(Kind::kNot);
      none.parts_.push_back(*std::move(negated));
      --depth;
      return none;
    }
    if (peek().kind != Token::Kind::kOpen) return --depth, comparison();
    take();
    auto inner = wanted();
    if (!inner) return inner.error();
    if (const Token end = take(); end.kind != Token::Kind::kClose) return invalid("')' is missing before " + end.words());
    --depth;
    return inner;
  }

  Result<Where> comparison() {
    std::string name;  // of some words
    while (peek().kind == Token::Kind::kWord && !peek().is_word("and") && !peek().is_word("or")) {
      name.append(name.empty() ? "" : " ").append(take().text);
    }
    if (name.empty()) return invalid("a statistic or a fact is missing before " + peek().words());
    const Token compared = peek();
    const bool is_comparison = compared.kind == Token::Kind::kOperator || compared.kind == Token::Kind::kGlob;
    if (!is_comparison && name == "nan") return Where::any_of(nan_conditions());
    if (!is_comparison && name == "inf") return Where::any_of(inf_conditions());
    if (!is_comparison) return invalid("'" + shown(name) + "' is neither nan, inf nor a comparison, such as max > 1");
    take();
    auto field = field_from(name);
    if (!field) return field.error();
    const Token value = take();
    if (value.kind != Token::Kind::kWord && value.kind != Token::Kind::kQuoted) {
      return invalid("'" + shown(name) + "' is compared with " + value.words() + ", which is no word; quotes make it one");
    }
    return is_text(*field) ? text(name, *field, compared, value) : number(name, *field, compared, value);
  }

  static Result<Where> number(const std::string& name, const Field& field, const Token& compared, const Token& value) {
    if (compared.kind == Token::Kind::kGlob) return invalid("'" + shown(name) + "' is a number, and ~ compares texts");
    Where number(Kind::kNumber);
    number.field_ = field;
    number.comparison_ = compared.comparison;
    number.bound_ = bound_from(value.text);
    if (!std::holds_alternative<std::monostate>(number.bound_.nearest)) return number;
    return invalid("'" + shown(name) + "' is a number, and " + value.words() + " is none" +
                   (value.text == "nan" ? ": say nan alone, or nan-count > 0" : ""));
  }

  static Result<Where> text(const std::string& name, const Field& field, const Token& compared, const Token& value) {
    const bool is_glob = compared.kind == Token::Kind::kGlob;
    if (!is_glob && compared.comparison != Comparison::kEqual && compared.comparison != Comparison::kUnequal) {
      return invalid("'" + shown(name) + "' is a text: == and != compare it, and ~ with a glob");
    }
    if (name == "dtype" && !is_glob && !is_data_type(value.text)) {
      return invalid(value.words() + " is no dtype; float32 is one");
    }
    Where text(is_glob ? Kind::kGlob : Kind::kText);
    text.field_ = field;
    text.comparison_ = compared.comparison;
    text.text_ = value.text;
    return text;
  }
};

Result<Where> Where::parse(std::string_view text) {
  auto tokens = tokens_of(text);
  if (!tokens) return tokens.error();
  Parser parser{*std::move(tokens)};
  auto wanted = parser.wanted();
  if (!wanted) return wanted.error();
  if (const Token rest = parser.peek(); rest.kind != Token::Kind::kEnd) {
    return invalid("and or or is missing before " + rest.words());
  }
  return wanted;
}

Categories Where::needed(bool with_words) const {
  Categories all;
  if (kind_ == Kind::kWord) {
    for (const Condition& each : conditions_) all.push_back(each.category);
    return with_words ? all : Categories();
  }
  const auto* category = std::get_if<Category>(&field_);
  if (parts_.empty() && category != nullptr) all.push_back(*category);
  for (const Where& part : parts_) {
    const Categories more = part.needed(with_words);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

bool Where::takes_glob_for_text() const {
  const bool does =
      kind_ == Kind::kText && comparison_ == Comparison::kEqual && text_.find_first_of("*?") != text_.npos;
  return does || std::ranges::any_of(parts_, [](const Where& part) { return part.takes_glob_for_text(); });
}

bool Where::is_met_by(const Entry& entry) const {
  const auto meets = [&](const Where& part) { return part.is_met_by(entry); };
  switch (kind_) {
    case Kind::kAny:
      return std::ranges::any_of(parts_, meets);
    case Kind::kAll:
      return std::ranges::all_of(parts_, meets);
    case Kind::kNot:
      return !meets(parts_.front());
    case Kind::kWord:
      return std::ranges::any_of(
          conditions_, [&](const Condition& each) { return tensorstat::cli::meets(entry.row.statistics, each); });
    case Kind::kNumber:
      return holds(order_of(number_of(entry, field_), bound_), comparison_);
    case Kind::kText:
      return (text_of(entry, field_) == text_) == (comparison_ == Comparison::kEqual);
    case Kind::kGlob:
      return ::fnmatch(text_.c_str(), text_of(entry, field_).c_str(), 0) == 0;
  }
  return false;
}

}  // namespace tensorstat::cli
