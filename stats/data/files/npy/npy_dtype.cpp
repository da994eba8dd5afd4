#include "stats/data/files/npy/npy_dtype.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostElementBytes = std::uint64_t{1} << 62;

// "<f4" has the byte order '<' and the kind "f4". '\0': the text has no byte order.
char order_of(std::string_view descr) {
  return !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos ? descr[0] : '\0';
}

// NumPy's other names of its kinds on a 64-bit Linux: characters of types, which may stand behind a byte order, and
// names, which may not. Source: https://numpy.org/doc/stable/reference/arrays.dtypes.html and arrays.scalars.html
struct OtherNames {
  std::string_view kind, names;  // each name between two spaces
};
constexpr OtherNames kOtherNames[] = {
    {"b1", " ? bool bool_ "},
    {"i1", " b int8 byte "},
    {"u1", " B uint8 ubyte "},
    {"i2", " h int16 short "},
    {"u2", " H uint16 ushort "},
    {"i4", " i int32 intc "},
    {"u4", " I uint32 uintc "},
    {"i8", " l q p int64 int int_ intp long longlong "},
    {"u8", " L Q P uint64 uint uintp ulong ulonglong "},
    {"f2", " e float16 half "},
    {"f4", " f float32 single "},
    {"f8", " d float64 double float float_ "},
    {"f16", " g longdouble "},
    {"c8", " F complex64 csingle singlecomplex "},
    {"c16", " D complex128 cdouble cfloat complex complex_ "},
    {"c32", " G clongdouble "},
};

// "f4" of "<f4", "f" and "float32".
std::string_view kind_of(std::string_view descr) {
  const bool has_order = order_of(descr) != '\0';
  const std::string_view kind = descr.substr(has_order);
  if (kind.empty() || kind.find(' ') != kind.npos || (has_order && kind.size() > 1)) return kind;
  const std::string word = " " + std::string(kind) + " ";
  for (const OtherNames& other : kOtherNames) {
    if (other.names.find(word) != other.names.npos) return other.kind;
  }
  return kind;
}

// The name of a known dtype that is not supported; empty for an unknown one.
std::string refused_name(std::string_view kind) {
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
    return {Code::kUnsupported, "holds pickled Python objects (dtype " + in_quotes(descr) +
                                    "), which only Python can read, and which may run code"};
  }
  const std::string called = refused_name(kind);
  if (called == "str" || called == "bytes") {
    return {Code::kNoNumbers, "holds texts (dtype " + in_quotes(descr) + "), which have no statistics"};
  }
  return {Code::kUnsupported, "dtype " + (called.empty() ? "" : called + " ") + in_quotes(descr) + " is not supported"};
}

struct DescrRow {
  std::string_view kind;
  Dtype dtype;
};

#define TENSORSTAT_ROW(id, name, descr, ...) DescrRow{descr, Dtype::id},
constexpr std::array kDescrRows = {TENSORSTAT_DTYPES(TENSORSTAT_ROW)};
#undef TENSORSTAT_ROW

// Sets `field` from the type. If the type has no statistics, returns the reason.
std::optional<Error> read_type(const std::string& descr, NpyField& field) {
  // Spellings of bfloat16: ml_dtypes under NumPy 1 and 2, its name, and MindSpore's CPU dump.
  const char order = order_of(descr);
  std::string_view kind = kind_of(descr);
  if (kind == "bfloat16" || kind == "E2") kind = "V2";
  std::string candidates;
  for (const DescrRow& row : kDescrRows) {
    if (kind == row.kind && !kind.empty()) candidates.append(candidates.empty() ? "" : ", ").append(name(row.dtype));
  }
  if (candidates.find(',') != candidates.npos) {
    return Error{Code::kUnsupported,
                 "dtype " + in_quotes(descr) + " does not say what it holds: " + candidates + " all have this descr"};
  }
  for (const DescrRow& row : kDescrRows) {
    if (kind != row.kind || kind.empty()) continue;
    // Without '<' or '>' it is this machine's order. ml_dtypes writes its voids in the order of the writing machine.
    const char native = std::endian::native == std::endian::big ? '>' : '<';
    field.dtype = row.dtype;
    field.is_void = kind == "V2";
    field.swapped = size_bytes(row.dtype) > 1 && (order == '<' || order == '>') && order != native;
    return std::nullopt;
  }
  return refused_dtype(descr, kind);
}

// The size of a value of any type that NumPy writes; nullopt if unknown.
std::optional<std::uint64_t> bytes_of_kind(std::string_view kind) {
  if (kind.empty() || std::string_view("biufcSaUVMm").find(kind.front()) == kind.npos) return std::nullopt;
  std::uint32_t bytes = 0;
  const auto [end, error] = std::from_chars(kind.data() + 1, kind.data() + kind.size(), bytes);
  if (error != std::errc() || (end != kind.data() + kind.size() && *end != '[')) return std::nullopt;
  return kind.front() == 'U' ? std::uint64_t{4} * bytes : bytes;
}

// Headers before version 3.0 encode names in Latin-1.
std::string utf8_from_latin1(std::string_view text) {
  std::string utf8;
  for (const char each : text) {
    const auto value = static_cast<unsigned char>(each);
    if (value >= 0x80) utf8 += static_cast<char>(0xc0 | value >> 6);
    utf8 += static_cast<char>(value < 0x80 ? value : 0x80 | (value & 0x3f));
  }
  return utf8;
}

// Computes the offsets of a structure's fields. Fields of nested structures are named "outer.inner".
class Layout {
 public:
  explicit Layout(bool is_latin1) : is_latin1_(is_latin1) {}

  Status add(const NpyType& type, const std::string& outer, bool is_field = false) {
    const std::string own = is_latin1_ ? utf8_from_latin1(type.name) : type.name;
    NpyField field{.name = outer.empty() ? own : outer + "." + own, .shape = type.shape, .at_bytes = all.element_bytes};
    if (type.is_structure && type.shape.empty()) {
      for (const NpyType& inner : type.fields) {
        if (Status added = add(inner, field.name, true); !added) return added;
      }
      return {};
    }
    const auto value_bytes = type.is_structure ? refuse_structures(type, field) : read_value(type.text, field);
    if (!value_bytes) return value_bytes.error();
    const auto count = element_count(type.shape, *value_bytes);
    if (!count) return count.error();
    if (*count * *value_bytes > kMostElementBytes - all.element_bytes) {
      return unreadable_npy("an element would have more than 2^62 bytes");
    }
    all.element_bytes += *count * *value_bytes;
    const bool is_padding = is_field && own.empty() && !type.is_structure && kind_of(type.text).starts_with('V');
    if (is_padding) return {};
    if (!names_.insert(field.name).second) return unreadable_npy("the field " + in_quotes(field.name) + " comes twice");
    all.fields.push_back(std::move(field));
    return {};
  }

  NpyElement all;

 private:
  // The size of a value in bytes.
  Result<std::uint64_t> read_value(const std::string& descr, NpyField& field) const {
    field.refusal = read_type(descr, field);
    if (!field.refusal) return std::uint64_t{size_bytes(field.dtype)};
    const auto bytes = bytes_of_kind(kind_of(descr));
    // Without the size, the offsets of the later fields are unknown.
    if (!bytes || kind_of(descr).starts_with('O')) return *field.refusal;
    return *bytes;
  }

  Result<std::uint64_t> refuse_structures(const NpyType& type, NpyField& field) const {
    NpyType one = type;
    one.shape.clear();
    Layout inner(is_latin1_);
    if (Status added = inner.add(one, ""); !added) return added.error();
    field.refusal = Error{Code::kUnsupported, "holds several structures an element, which is not supported"};
    return inner.all.element_bytes;
  }

  const bool is_latin1_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Result<NpyElement> lay_out(const NpyType& type, bool is_latin1) {
  Layout layout(is_latin1);
  if (Status added = layout.add(type, ""); !added) return added.error();
  if (layout.all.fields.empty()) return unreadable_npy("holds structures without a field");
  if (type.is_structure && layout.all.element_bytes == 0) return unreadable_npy("holds structures of no bytes");
  return std::move(layout.all);
}

}  // namespace tensorstat
