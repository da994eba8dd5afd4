#include "stats/data/files/npy/npy_literal.hpp"

#include <charconv>
#include <string>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"

namespace tensorstat {
namespace {

constexpr int kMostDepth = 16;  // of nested structures

// A recogniser for the one Python literal an .npy header may hold: a dict of str to str, bool, tuple of non-negative
// int or list of fields. Each method consumes the syntax in its name. On failure it sets `fault`, and the caller stops.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  std::string fault;

  bool consume(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool expect(char wanted, std::string_view where) {
    if (consume(wanted)) return true;
    return fail(std::string("expected '") + wanted + "' " + std::string(where));
  }

  bool string(std::string& value) {
    skip_blanks();
    if (rest_.starts_with("u'") || rest_.starts_with("u\"")) rest_.remove_prefix(1);  // of Python 2
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (end == rest_.npos) return fail("expected a quoted string");
    value = rest_.substr(1, end - 1);
    if (value.find('\\') != value.npos) return fail("a string holds a backslash");
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool boolean(bool& value) {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.starts_with(word)) {
        value = word == "True";
        rest_.remove_prefix(word.size());
        return true;
      }
    }
    return fail("fortran_order is neither True nor False");
  }

  // A field's shape may be one number.
  bool shape_of_field(Shape& value) {
    if (peek() == '(') return shape(value);
    std::uint64_t dimension = 0;
    if (!integer(dimension)) return false;
    value = {dimension};
    return true;
  }

  bool shape(Shape& value) {
    value.clear();
    if (!consume('(')) return fail("shape is not a tuple");
    while (!consume(')')) {
      if (value.size() == kMostDimensions) return fail("shape has more than 64 dimensions");
      std::uint64_t dimension = 0;
      if (!integer(dimension)) return false;
      value.push_back(dimension);
      const bool comma = consume(',');
      if (comma || peek() == ')') {
        // (3) is an int in Python, not a tuple.
        if (!comma && value.size() == 1) return fail("shape is not a tuple");
        continue;
      }
      return fail("expected ',' or ')' in shape");
    }
    return true;
  }

  bool blank_to_the_end() {
    skip_blanks();
    return rest_.empty() || fail("something follows the closing '}'");
  }

  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool fail(std::string what) {
    if (fault.empty()) fault = std::move(what) + " at " + in_quotes(rest_.substr(0, 12));
    return false;
  }

 private:
  void skip_blanks() {
    const std::size_t first = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(first == rest_.npos ? rest_.size() : first);
  }

  bool integer(std::uint64_t& value) {
    skip_blanks();
    if (rest_.starts_with('-')) return fail("shape has a negative dimension");
    const char* begin = rest_.data();
    const auto [end, error] = std::from_chars(begin, begin + rest_.size(), value);
    if (error == std::errc::result_out_of_range) return fail("a dimension exceeds 2^64-1");
    if (error != std::errc()) return fail("a dimension is not a whole number");
    if (*begin == '0' && end - begin > 1) return fail("a dimension begins with 0");
    rest_.remove_prefix(end - begin);
    consume('L');  // Python 2 on Windows wrote (3L,)
    return true;
  }

  std::string_view rest_;
};

bool parse_type(Literal& literal, NpyType& type, int depth);

// ('name', type), ('name', type, shape) or (('title', 'name'), type). Lists do for tuples.
bool parse_field(Literal& literal, NpyType& field, int depth) {
  const char end = literal.consume('[') ? ']' : ')';
  if (end == ')' && !literal.expect('(', "before a field")) return false;
  const bool has_title = literal.consume('(');
  if (!literal.string(field.name)) return false;
  const bool is_named = !has_title || (literal.expect(',', "after a title") && literal.string(field.name) &&
                                       literal.expect(')', "after a name"));
  if (!is_named) return false;
  if (!literal.expect(',', "after a field's name") || !parse_type(literal, field, depth)) return false;
  if (literal.consume(',') && literal.peek() != end) {
    if (!field.shape.empty()) return literal.fail("a field has two shapes");
    if (!literal.shape_of_field(field.shape)) return false;
  }
  literal.consume(',');
  return literal.expect(end, "after a field");
}

// 'text', [fields] or, of a field, ('text', shape).
bool parse_type(Literal& literal, NpyType& type, int depth) {
  if (depth > 0 && literal.consume('(')) {
    return literal.string(type.text) && literal.expect(',', "after a type") && literal.shape_of_field(type.shape) &&
           literal.expect(')', "after a shape");
  }
  if (!literal.consume('[')) return literal.string(type.text);
  if (depth == kMostDepth) return literal.fail("structures lie deeper in each other than 16");
  type.is_structure = true;
  while (!literal.consume(']')) {
    if (!parse_field(literal, type.fields.emplace_back(), depth + 1)) return false;
    if (!literal.consume(',') && literal.peek() != ']') return literal.fail("expected ',' or ']' after a field");
  }
  return true;
}

bool parse_dictionary(Literal& literal, NpyDictionary& dictionary) {
  bool has_descr = false, has_order = false, has_shape = false;
  if (!literal.expect('{', "at the start")) return false;
  while (!literal.consume('}')) {
    std::string key;
    if (!literal.string(key)) return false;
    bool* seen = key == "descr"           ? &has_descr
                 : key == "fortran_order" ? &has_order
                 : key == "shape"         ? &has_shape
                                          : nullptr;
    if (!seen) return literal.fail("unknown key " + in_quotes(key));
    if (*seen) return literal.fail("key " + in_quotes(key) + " comes twice");
    *seen = true;
    if (!literal.expect(':', "after a key")) return false;
    if (seen == &has_descr) {
      if (!parse_type(literal, dictionary.type, 0)) return false;
    } else if (seen == &has_order ? !literal.boolean(dictionary.fortran_order) : !literal.shape(dictionary.shape)) {
      return false;
    }
    if (!literal.consume(',') && literal.peek() != '}') {
      return literal.fail("expected ',' or '}' after a value");
    }
  }
  if (!has_descr) return literal.fail("key 'descr' is missing");
  if (!has_order) return literal.fail("key 'fortran_order' is missing");
  if (!has_shape) return literal.fail("key 'shape' is missing");
  return literal.blank_to_the_end();
}

}  // namespace

Error unreadable_npy(std::string what) { return {Code::kUnreadable, std::move(what)}; }

Result<NpyDictionary> parse_npy_literal(std::string_view text) {
  Literal literal(text);
  NpyDictionary dictionary;
  if (parse_dictionary(literal, dictionary)) return dictionary;
  return Error{Code::kUnreadable, std::move(literal.fault)};
}

}  // namespace tensorstat
