#include "stats/data/files/zarr/zarr_metadata.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tensorstat/catalog.hpp>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/npy/npy_dtype.hpp"
#include "stats/data/json/json_text.hpp"

namespace tensorstat {
namespace {

using JsonKind = JsonValue::Kind;

Error wrong(const std::string& what) { return {Code::kUnreadable, what}; }
Error not_read(const std::string& what) { return {Code::kUnsupported, what}; }

std::optional<std::string_view> text_in(const JsonValue& object, std::string_view key) {
  const auto value = object.is(JsonKind::kObject) ? object.find(key) : std::nullopt;
  return value && value->is(JsonKind::kString) ? std::optional(value->text()) : std::nullopt;
}

// {"name": ..., "configuration": {...}} of version 3; the configuration may be missing.
struct Named {
  std::string_view name;
  std::optional<JsonValue> configuration;
};
std::optional<Named> named(const std::optional<JsonValue>& value) {
  if (!value) return std::nullopt;
  if (value->is(JsonKind::kString)) return Named{value->text(), std::nullopt};
  const auto name = text_in(*value, "name");
  if (!name) return std::nullopt;
  auto configuration = value->find("configuration");
  if (configuration && !configuration->is(JsonKind::kObject)) configuration.reset();
  return Named{*name, configuration};
}

Result<Shape> lengths(const std::optional<JsonValue>& value, std::string_view key) {
  Shape shape;
  bool is_list = value && value->is(JsonKind::kArray);
  if (is_list) {
    for (const JsonValue each : *value) {
      is_list = is_list && each.is(JsonKind::kNatural) && shape.size() < kMostDimensions;
      if (is_list) shape.push_back(each.natural());
    }
  }
  if (!is_list) return wrong(std::string(key) + " is no list of up to 64 lengths");
  return shape;
}

// The bits of a binary float with an exponent of at least `least` and `mantissa` bits behind the point, rounded to
// nearest, ties to even.
std::uint16_t short_float(double value, int least, int mantissa) {
  const auto infinity = static_cast<std::uint16_t>((3 - 2 * least) << mantissa);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | infinity | static_cast<std::uint16_t>(1 << (mantissa - 1));
  if (std::isinf(value)) return sign | infinity;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  if (exponent > 1 - least) return sign | infinity;
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(std::abs(value), mantissa - exponent)));
  return sign | static_cast<std::uint16_t>(((exponent - least) << mantissa) + steps);
}

std::optional<double> number(const JsonValue& value) {
  const std::string_view text = value.text();
  if (value.is(JsonKind::kString)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return kInfinity;
    if (text == "-Infinity") return -kInfinity;
    return std::nullopt;
  }
  double real = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(real) : std::nullopt;
}

template <typename Number>
bool put(Number value, std::vector<std::byte>& bytes) {
  const auto* const from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
  return true;
}

template <typename Integer>
bool put_integer(const JsonValue& value, std::vector<std::byte>& bytes) {
  const std::string_view text = value.text();
  if (Integer integer = 0; !value.is(JsonKind::kString)) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (error == std::errc() && end == text.data() + text.size()) return put(integer, bytes);
  }
  // 1.0 is a whole number, too.
  const auto real = number(value);
  return real && *real == std::trunc(*real) && std::abs(*real) < 9e15 &&
         *real >= static_cast<double>(std::numeric_limits<Integer>::lowest()) &&
         *real <= static_cast<double>(std::numeric_limits<Integer>::max()) && put(static_cast<Integer>(*real), bytes);
}

// "0x7fc00000": the bits of a float.
bool put_bits(std::string_view text, std::size_t size, std::vector<std::byte>& bytes) {
  std::uint64_t bits = 0;
  if (!text.starts_with("0x") || text.size() != 2 + 2 * size) return false;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t index = std::endian::native == std::endian::little ? i : size - 1 - i;
    bytes.push_back(static_cast<std::byte>(bits >> (8 * index)));
  }
  return true;
}

// Appends `value` as an element of the dtype, in this machine's order. False if it is not such an element.
bool put_element(Dtype dtype, const JsonValue& value, std::vector<std::byte>& bytes) {
  if (value.is(JsonKind::kNull)) {
    bytes.insert(bytes.end(), size_bytes(dtype), std::byte{0});
    return true;
  }
  if (is_complex(dtype)) {
    const Dtype part = part_of(dtype);
    if (value.is(JsonKind::kArray) && value.size() == 2) {
      return put_element(part, *value.begin(), bytes) && put_element(part, *++value.begin(), bytes);
    }
    const bool is_real = put_element(part, value, bytes);
    bytes.insert(bytes.end(), size_bytes(part), std::byte{0});
    return is_real;
  }
  if (value.is(JsonKind::kArray) || value.is(JsonKind::kObject)) return false;
  if (value.is(JsonKind::kBoolean)) return size_bytes(dtype) == 1 && put(std::uint8_t{value.text() == "true"}, bytes);
  if (is_float(dtype) && value.is(JsonKind::kString) && put_bits(value.text(), size_bytes(dtype), bytes)) return true;
  const auto real = number(value);
  switch (dtype) {
    case Dtype::kFloat64:
      return real && put(*real, bytes);
    case Dtype::kFloat32:
      return real && put(static_cast<float>(*real), bytes);
    case Dtype::kFloat16:
      return real && put(short_float(*real, -14, 10), bytes);
    case Dtype::kBfloat16:
      return real && put(short_float(*real, -126, 7), bytes);
    case Dtype::kBool:
    case Dtype::kUint8:
      return put_integer<std::uint8_t>(value, bytes);
    case Dtype::kInt8:
      return put_integer<std::int8_t>(value, bytes);
    case Dtype::kInt16:
      return put_integer<std::int16_t>(value, bytes);
    case Dtype::kUint16:
      return put_integer<std::uint16_t>(value, bytes);
    case Dtype::kInt32:
      return put_integer<std::int32_t>(value, bytes);
    case Dtype::kUint32:
      return put_integer<std::uint32_t>(value, bytes);
    case Dtype::kInt64:
      return put_integer<std::int64_t>(value, bytes);
    case Dtype::kUint64:
      return put_integer<std::uint64_t>(value, bytes);
    default:
      return false;
  }
}

Status read_fill(const std::optional<JsonValue>& value, ZarrArray& array) {
  array.fill.clear();
  if (!value) {
    array.fill.resize(size_bytes(array.dtype));
    return {};
  }
  if (!put_element(array.dtype, *value, array.fill)) {
    return not_read("has the fill value " + excerpt(*value) + ", which is no " + std::string(name(array.dtype)));
  }
  const std::size_t part = size_bytes(is_complex(array.dtype) ? part_of(array.dtype) : array.dtype);
  for (std::size_t offset = 0; array.swapped && offset < array.fill.size(); offset += part) {
    std::ranges::reverse(std::span(array.fill).subspan(offset, part));
  }
  return {};
}

// An error if shape and chunk do not fit.
Status check_grid(const ZarrArray& array) {
  if (array.chunk.size() != array.shape.size()) return wrong("its chunks have other axes than its shape");
  if (std::ranges::count(array.chunk, 0u) != 0) return wrong("its chunks have no elements");
  const auto count = element_count(array.shape, size_bytes(array.dtype));
  const auto in_chunk = element_count(array.shard ? *array.shard : array.chunk, size_bytes(array.dtype));
  return !count ? count.error() : !in_chunk ? in_chunk.error() : Status();
}

Status read_separator(std::optional<std::string_view> text, ZarrArray& array) {
  if (!text) return {};
  if (*text != "." && *text != "/") return wrong("the names of its chunks have the separator " + excerpt(*text));
  array.key_separator = text->front();
  return {};
}

// --- Version 2.

Status read_compressor(const std::optional<JsonValue>& value, ZarrArray& array) {
  if (!value || value->is(JsonKind::kNull)) return {};
  constexpr std::pair<std::string_view, Packing> kCompressors[] = {
      {"zlib", Packing::kZlib}, {"gzip", Packing::kZlib}, {"bz2", Packing::kBzip2},  {"lzma", Packing::kXz},
      {"zstd", Packing::kZstd}, {"lz4", Packing::kLz4},   {"blosc", Packing::kBlosc}};
  const auto id = text_in(*value, "id");
  if (!id) return wrong("its compressor has no id");
  for (const auto& [name, packing] : kCompressors) {
    if (*id == name) array.packing = packing;
  }
  const auto format = value->find("format");
  const bool is_xz = !format || (format->is(JsonKind::kNatural) && format->natural() == 1);
  if (!array.packing || (*id == "lzma" && !is_xz)) return not_read("is packed by " + excerpt(*value));
  return {};
}

Status read_version_2(const JsonValue& root, ZarrArray& array) {
  const auto dtype = text_in(root, "dtype");
  if (!dtype) return not_read("holds structures, which are not read");
  const auto element = lay_out({.text = std::string(*dtype)}, false);
  if (!element) return element.error();
  const NpyField& field = element->fields.front();
  if (field.refusal) return *field.refusal;
  if (field.is_void) return not_read("dtype " + in_quotes(*dtype) + " is not supported");
  array.dtype = field.dtype;
  array.swapped = field.swapped;
  auto chunk = lengths(root.find("chunks"), "chunks");
  if (!chunk) return chunk.error();
  array.chunk = *std::move(chunk);
  array.order.resize(array.shape.size());
  std::iota(array.order.begin(), array.order.end(), std::size_t{0});
  if (const auto order = text_in(root, "order"); order && *order == "F") {
    std::ranges::reverse(array.order);
  } else if (order && *order != "C") {
    return wrong("its order is neither C nor F");
  }
  if (const auto filters = root.find("filters"); filters && !filters->is(JsonKind::kNull)) {
    if (!filters->is(JsonKind::kArray) || filters->size() != 0) return not_read("has the filters " + excerpt(*filters));
  }
  if (Status read = read_compressor(root.find("compressor"), array); !read) return read;
  return read_separator(text_in(root, "dimension_separator"), array);
}

// --- Version 3.

Status read_order(const std::optional<JsonValue>& order, ZarrArray& array) {
  auto axes = lengths(order, "the order of a transpose");
  if (!axes) return axes.error();
  std::vector<std::size_t> permutation(axes->begin(), axes->end());
  if (!std::ranges::is_permutation(permutation, array.order))
    return wrong("its transpose is no permutation of its axes");
  array.order = std::move(permutation);
  return {};
}

// The codecs of an index of shards: little-endian bytes, and perhaps a checksum.
Status read_index_codecs(const std::optional<JsonValue>& codecs, ZarrArray& array) {
  std::vector<std::string_view> names;
  bool is_list = codecs && codecs->is(JsonKind::kArray), is_little = true;
  if (is_list) {
    for (const JsonValue each : *codecs) {
      const auto codec = named(each);
      names.push_back(codec ? codec->name : "");
      const auto endian = codec && codec->configuration ? text_in(*codec->configuration, "endian") : std::nullopt;
      is_little = is_little && (!endian || *endian == "little");
    }
  }
  array.has_index_crc32c = names.size() == 2 && names[1] == "crc32c";
  const bool is_known = !names.empty() && names[0] == "bytes" && (names.size() == 1 || array.has_index_crc32c);
  return is_known && is_little ? Status() : not_read("has an index of shards in a form that is not known");
}

Status read_codecs(const std::optional<JsonValue>& codecs, ZarrArray& array);

// Sharding: the shape that was read as the chunks' shape is the shards' shape.
Status read_sharding(const JsonValue& configuration, ZarrArray& array) {
  auto chunk = lengths(configuration.find("chunk_shape"), "chunk_shape");
  if (!chunk) return chunk.error();
  if (array.shard || chunk->size() != array.chunk.size()) return wrong("its shards have other axes than their chunks");
  for (std::size_t d = 0; d < chunk->size(); ++d) {
    if ((*chunk)[d] == 0 || array.chunk[d] % (*chunk)[d] != 0) return wrong("its shards have no whole chunks");
  }
  array.shard = std::exchange(array.chunk, *std::move(chunk));
  array.has_index_at_start = text_in(configuration, "index_location") == "start";
  if (Status read = read_index_codecs(configuration.find("index_codecs"), array); !read) return read;
  return read_codecs(configuration.find("codecs"), array);
}

// From the elements to the stored bytes.
Status read_codecs(const std::optional<JsonValue>& codecs, ZarrArray& array) {
  constexpr std::pair<std::string_view, Packing> kPackers[] = {
      {"gzip", Packing::kZlib}, {"zstd", Packing::kZstd}, {"blosc", Packing::kBlosc}};
  if (!codecs || !codecs->is(JsonKind::kArray)) return wrong("codecs is no list");
  bool has_bytes = false, is_transposed = false;
  if (const auto only = codecs->size() == 1 ? named(*codecs->begin()) : std::nullopt;
      only && only->name == "sharding_indexed" && only->configuration && !array.shard) {
    return read_sharding(*only->configuration, array);
  }
  for (const JsonValue each : *codecs) {
    const auto codec = named(each);
    if (!codec) return wrong("a codec has no name");
    const auto option = [&](std::string_view key) {
      return codec->configuration ? codec->configuration->find(key) : std::nullopt;
    };
    const auto* const packer = std::ranges::find(kPackers, codec->name, [](const auto& row) { return row.first; });
    if (codec->name == "transpose" && !has_bytes && !is_transposed) {
      if (Status read = read_order(option("order"), array); !read) return read;
      is_transposed = true;
    } else if (codec->name == "bytes" && !has_bytes) {
      const auto endian = option("endian");
      const bool is_big = endian && endian->is(JsonKind::kString) && endian->text() == "big";
      array.swapped = size_bytes(array.dtype) > 1 && is_big != (std::endian::native == std::endian::big);
      has_bytes = true;
    } else if (codec->name == "crc32c" && has_bytes && !array.has_outer_crc32c && !array.has_inner_crc32c) {
      (array.packing ? array.has_outer_crc32c : array.has_inner_crc32c) = true;
    } else if (packer != std::end(kPackers) && has_bytes && !array.packing && !array.has_outer_crc32c) {
      array.packing = packer->second;
    } else {
      return not_read("is stored by the codecs " + excerpt(*codecs) + ", of which " + in_quotes(codec->name) +
                      " is not read there");
    }
  }
  return has_bytes ? Status() : wrong("its codecs make no bytes");
}

Status read_version_3(const JsonValue& root, ZarrArray& array) {
  const auto type = named(root.find("data_type"));
  const auto dtype = type ? dtype_from(type->name) : std::nullopt;
  if (!dtype || is_packed(*dtype)) {
    const auto value = root.find("data_type");
    return not_read("dtype " + (value ? excerpt(*value) : "of no name") + " is not supported");
  }
  array.dtype = *dtype;
  const auto grid = named(root.find("chunk_grid"));
  if (!grid || grid->name != "regular" || !grid->configuration) return not_read("its chunk grid is not regular");
  auto chunk = lengths(grid->configuration->find("chunk_shape"), "chunk_shape");
  if (!chunk) return chunk.error();
  array.chunk = *std::move(chunk);
  array.order.resize(array.shape.size());
  std::iota(array.order.begin(), array.order.end(), std::size_t{0});
  if (Status read = read_codecs(root.find("codecs"), array); !read) return read;
  if (const auto more = root.find("storage_transformers"); more && (!more->is(JsonKind::kArray) || more->size() != 0)) {
    return not_read("has the storage transformers " + excerpt(*more));
  }
  const auto encoding = named(root.find("chunk_key_encoding"));
  if (!encoding || (encoding->name != "default" && encoding->name != "v2")) {
    return not_read("the names of its chunks are encoded in a way that is not known");
  }
  array.key_prefix = encoding->name == "default" ? "c" : "";
  array.key_separator = encoding->name == "default" ? '/' : '.';
  return read_separator(encoding->configuration ? text_in(*encoding->configuration, "separator") : std::nullopt, array);
}

}  // namespace

std::string ZarrArray::key(const Shape& index) const {
  std::string key = key_prefix;
  for (const std::uint64_t each : index) {
    if (!key.empty()) key += key_separator;
    key += std::to_string(each);
  }
  return key.empty() ? "0" : key;
}

Result<std::optional<ZarrArray>> parse_zarr(std::string_view text, bool is_version_3) {
  const auto document = parse_json(text);
  if (!document) return document.error();
  const JsonValue root = document->root();
  if (!root.is(JsonKind::kObject)) return wrong("is no object of JSON");
  const auto version = root.find("zarr_format");
  if (!version || !version->is(JsonKind::kNatural) || version->natural() != (is_version_3 ? 3u : 2u)) {
    return wrong("has another zarr_format than its name says");
  }
  if (is_version_3 && text_in(root, "node_type") == "group") return std::optional<ZarrArray>();
  ZarrArray array;
  auto shape = lengths(root.find("shape"), "shape");
  if (!shape) return shape.error();
  array.shape = *std::move(shape);
  if (Status read = is_version_3 ? read_version_3(root, array) : read_version_2(root, array); !read) {
    return read.error();
  }
  if (Status checked = check_grid(array); !checked) return checked.error();
  if (Status filled = read_fill(root.find("fill_value"), array); !filled) return filled.error();
  return std::optional(std::move(array));
}

}  // namespace tensorstat
