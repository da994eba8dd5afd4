#include "stats/files/npy_header.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 64;  // NumPy's own limit

Error unreadable(std::string what) { return {Code::kUnreadable, std::move(what)}; }

std::string quoted(std::string_view text) { return "'" + shown(text) + "'"; }

// A recogniser for the one Python literal an .npy header may hold: a dict of str to str, bool or
// tuple of non-negative int. Each method consumes what it names; on failure it leaves words in
// `fault` and the caller gives up.
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
        // (3) is an int to Python, and no shape.
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
    if (fault.empty()) fault = std::move(what) + " at " + quoted(rest_.substr(0, 12));
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

struct Fields {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

bool parse(Literal& literal, Fields& fields) {
  bool has_descr = false, has_order = false, has_shape = false;
  if (!literal.expect('{', "at the start")) return false;
  while (!literal.consume('}')) {
    std::string key;
    if (!literal.string(key)) return false;
    bool* seen = key == "descr"           ? &has_descr
                 : key == "fortran_order" ? &has_order
                 : key == "shape"         ? &has_shape
                                          : nullptr;
    if (!seen) return literal.fail("unknown key " + quoted(key));
    if (*seen) return literal.fail("key " + quoted(key) + " comes twice");
    *seen = true;
    if (!literal.expect(':', "after a key")) return false;
    if (seen == &has_descr) {
      if (literal.peek() == '[') return literal.fail("structured dtypes are not supported");
      if (!literal.string(fields.descr)) return false;
    } else if (seen == &has_order ? !literal.boolean(fields.fortran_order)
                                  : !literal.shape(fields.shape)) {
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

// What people call a dtype that is understood and refused; empty for one never heard of.
std::string refused_name(std::string_view kind) {
  if (kind == "c8") return "complex64";
  if (kind == "c16") return "complex128";
  if (kind == "f12" || kind == "f16" || kind == "c24" || kind == "c32") return "long double";
  switch (kind.empty() ? '\0' : kind.front()) {
    case 'U':
      return "str";
    case 'S':
    case 'a':
      return "bytes";
    case 'M':
      return "datetime64";
    case 'm':
      return "timedelta64";
    case 'V':
      return "void";
    default:
      return "";
  }
}

Error refused_dtype(std::string_view descr, std::string_view kind) {
  if (kind.starts_with('O')) {
    return {Code::kUnsupported, "holds pickled Python objects (dtype " + quoted(descr) +
                                    "), which only Python can read, and which may run code"};
  }
  std::string known;
#define TENSORSTAT_NAME(id, name, ...) known.append(known.empty() ? "" : ", ").append(#name);
  TENSORSTAT_DTYPES(TENSORSTAT_NAME)
#undef TENSORSTAT_NAME
  const std::string called = refused_name(kind);
  return {Code::kUnsupported, "dtype " + (called.empty() ? "" : called + " ") + quoted(descr) +
                                  " is not supported; supported are " + known};
}

struct DescrRow {
  std::string_view kind;
  Dtype dtype;
};

#define TENSORSTAT_ROW(id, name, descr, ...) DescrRow{descr, Dtype::id},
constexpr std::array kDescrRows = {TENSORSTAT_DTYPES(TENSORSTAT_ROW)};
#undef TENSORSTAT_ROW

std::optional<Error> read_descr(const std::string& descr, bool takes_complex, NpyHeader& header) {
  // Spellings of bfloat16: ml_dtypes under NumPy 1 and 2, its name, and MindSpore's CPU dump.
  const bool ordered = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
  const char order = ordered ? descr[0] : '\0';
  std::string_view kind = std::string_view(descr).substr(ordered);
  if (kind == "bfloat16" || kind == "E2") kind = "V2";
  header.is_complex = takes_complex && (kind == "c8" || kind == "c16");
  if (header.is_complex) kind = kind == "c8" ? "f4" : "f8";
  std::string candidates;
  for (const DescrRow& row : kDescrRows) {
    if (kind == row.kind) candidates.append(candidates.empty() ? "" : ", ").append(name(row.dtype));
  }
  if (candidates.find(',') != candidates.npos) {
    return Error{Code::kUnsupported, "dtype " + quoted(descr) + " does not say what it holds: " + candidates +
                                         " are all written so"};
  }
  for (const DescrRow& row : kDescrRows) {
    if (kind != row.kind) continue;
    header.dtype = row.dtype;
    header.is_void = kind == "V2";
    const bool any_order = size_bytes(row.dtype) == 1 || (header.is_void && order != '>');
    if (!any_order && order != '<' && order != '>') {
      return unreadable("descr " + quoted(descr) + " does not say the byte order with '<' or '>'");
    }
    header.swapped =
        size_bytes(row.dtype) > 1 && (order == '>') != (std::endian::native == std::endian::big);
    return std::nullopt;
  }
  return refused_dtype(descr, kind);
}

std::string_view look_like(std::string_view head) {
  if (head.empty()) return "it is empty";
  if (head.starts_with("PK")) return "it looks like a zip or .npz archive";
  if (head.starts_with("\x80")) return "it looks like a Python pickle";
  return "it does not begin with \\x93NUMPY";
}

}  // namespace

std::uint64_t npy_header_bytes(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (head.size() < kNpyLengthEnds || !text.starts_with(kMagic)) return head.size();
  const auto byte = [&](std::size_t at) { return std::to_integer<std::uint64_t>(head[at]); };
  const std::uint64_t short_length = byte(8) | byte(9) << 8;
  return byte(6) == 1 ? 10 + short_length : 12 + (short_length | byte(10) << 16 | byte(11) << 24);
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> head, std::uint64_t file_bytes, bool takes_complex) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const auto byte = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(text[at])};
  };
  if (!text.starts_with(kMagic)) {
    if (!text.empty() && kMagic.starts_with(text))
      return unreadable("truncated in its magic number");
    return unreadable("is no .npy file: " + std::string(look_like(text)));
  }
  if (text.size() < 10) return unreadable("truncated before its header");
  const std::size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    return unreadable("has .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                      "; 1.0, 2.0 and 3.0 are known");
  }
  const std::size_t start = major == 1 ? 10 : 12;
  if (text.size() < start) return unreadable("truncated before its header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file_bytes - start) {
    return unreadable("truncated in its header: " + std::to_string(length) +
                      " bytes are promised, " + std::to_string(file_bytes - start) + " are there");
  }
  if (length > text.size() - start) {
    return unreadable("has a header of " + std::to_string(length) +
                      " bytes; no tensor needs more than 65536");
  }

  Literal literal(text.substr(start, length));
  Fields fields;
  if (!parse(literal, fields)) return unreadable("has a damaged header: " + literal.fault);
  NpyHeader header;
  if (auto refused = read_descr(fields.descr, takes_complex, header)) return *std::move(refused);
  if (header.is_complex && fields.fortran_order && fields.shape.size() > 1) {
    return Error{Code::kUnsupported, "holds complex values in Fortran order, which is not supported"};
  }
  if (header.is_complex) {
    fields.shape.push_back(2);
    fields.fortran_order = false;  // one dimension lies the same way in both orders
  }
  const std::uint64_t element_bytes = size_bytes(header.dtype);
  const auto count = element_count(fields.shape, element_bytes);
  if (!count) return unreadable("has a damaged header: " + count.error().message);
  const std::uint64_t stored_bytes = file_bytes - start - length;
  const bool is_known = file_bytes != kUnknownBytes;
  if (is_known && stored_bytes != *count * element_bytes) {
    return unreadable(
        (stored_bytes < *count * element_bytes ? "is truncated: shape " : "is too long: shape ") +
        to_string(fields.shape) + " of " + std::string(name(header.dtype)) + " needs " +
        std::to_string(*count * element_bytes) + " bytes of data, " + std::to_string(stored_bytes) +
        " are there");
  }
  header.fortran_order = fields.fortran_order;
  header.shape = std::move(fields.shape);
  header.element_count = *count;
  header.data_offset_bytes = start + length;
  return header;
}

}  // namespace tensorstat
