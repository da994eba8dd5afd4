// .safetensors, read without trust: 8 bytes with the header's length, the header in JSON, then the tensors' bytes,
// little-endian and in C order. These fill the rest of the file without gaps and overlaps.
// Format: https://github.com/huggingface/safetensors#format
#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "stats/base/printable.hpp"
#include "stats/files/io/random_file.hpp"
#include "stats/files/tensor_source.hpp"
#include "stats/json/json_reader.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kHeaderLengthBytes = 8, kMostHeaderBytes = 100'000'000;
constexpr std::size_t kMostSafetensorsDimensions = 64;

// Every dtype of the format, with the catalog's name, or what the catalog would call it, and what to do if it is not
// supported.
struct FormatDtype {
  std::string_view name, catalog_name;
  std::string_view advice = {};
};
// F4's shape counts values, and the low half of a byte comes first. Sources: https://github.com/huggingface/safetensors
// bindings/python/src/lib.rs, and for the halves of what it takes, https://github.com/pytorch/pytorch
// torch/headeronly/util/Float4_e2m1fn_x2.h
constexpr std::string_view kWidenFloat6 = "save it as F8_E4M3, which has each of its values";
constexpr FormatDtype kDtypes[] = {
    {"BOOL", "bool"},
    {"F4", "float4_e2m1fn"},
    {.name = "F6_E2M3", .catalog_name = "float6_e2m3fn", .advice = kWidenFloat6},
    {.name = "F6_E3M2", .catalog_name = "float6_e3m2fn", .advice = kWidenFloat6},
    {"U8", "uint8"},
    {"I8", "int8"},
    {"F8_E5M2", "float8_e5m2"},
    {"F8_E4M3", "float8_e4m3fn"},
    {"F8_E8M0", "float8_e8m0fnu"},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz"},
    {"I16", "int16"},
    {"U16", "uint16"},
    {"F16", "float16"},
    {"BF16", "bfloat16"},
    {"I32", "int32"},
    {"U32", "uint32"},
    {"F32", "float32"},
    {"C64", "complex64"},
    {"F64", "float64"},
    {"I64", "int64"},
    {"U64", "uint64"},
};

struct HeaderEntry {
  std::string name, dtype;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // offsets after the header
};

// Parses the header without building a tree. Anything that the format does not allow stops it.
class HeaderReader : public JsonReader {
 public:
  HeaderReader() : JsonReader({.has_one_line = true}) {}

  std::vector<HeaderEntry> entries;

 private:
  enum class Place { kNowhere, kRoot, kMetadata, kTensor, kShape, kOffsets };
  static constexpr std::string_view kTensorKeys[] = {"dtype", "shape", "data_offsets"};

  bool scalar(const JsonScalar& value, std::string_view) override {
    constexpr const char* kKinds[] = {"null", "a boolean", "a number", "a negative number",
                                      "a number that is not whole, or not below 2^64"};
    const auto* number = std::get_if<std::uint64_t>(&value);
    if (number == nullptr || (place_ != Place::kShape && place_ != Place::kOffsets))
      return unexpected(kKinds[value.index()]);
    if (place_ == Place::kShape) {
      Shape& shape = entries.back().shape;
      if (shape.size() == kMostSafetensorsDimensions) return refuse(this_tensor() + " has more than 64 dimensions");
      shape.push_back(*number);
      return true;
    }
    if (offset_count_ == 2) return refuse("data_offsets of " + this_tensor() + " are more than two numbers");
    (offset_count_++ == 0 ? entries.back().begin : entries.back().end) = *number;
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || key_ != "dtype") return unexpected("a string");
    entries.back().dtype = text;
    return true;
  }
  bool key(std::string& key) override {
    key_ = key;
    if (place_ == Place::kTensor) {
      const auto known = std::ranges::find(kTensorKeys, key);
      if (known == std::end(kTensorKeys)) return refuse(this_tensor() + " has the unknown key " + in_quotes(key));
      bool& is_seen = is_seen_[known - kTensorKeys];
      return !std::exchange(is_seen, true) || comes_twice(key);
    }
    if (place_ == Place::kMetadata) return metadata_.insert(key).second || comes_twice(key);
    // Tensor names, which may be many, are checked for duplicates at the end.
    return key != "__metadata__" || !std::exchange(has_metadata_, true) || comes_twice(key);
  }
  bool begin(bool is_list) override {
    if (is_list) {
      if (place_ == Place::kTensor && key_ == "shape") return enter(Place::kShape);
      if (place_ == Place::kTensor && key_ == "data_offsets") return enter(Place::kOffsets);
      return unexpected("an array");
    }
    if (place_ == Place::kNowhere) return enter(Place::kRoot);
    if (place_ != Place::kRoot) return unexpected("an object");
    if (key_ == "__metadata__") return enter(Place::kMetadata);
    std::ranges::fill(is_seen_, false);
    entries.emplace_back().name = key_;
    offset_count_ = 0;
    return enter(Place::kTensor);
  }
  bool end() override {
    if (place_ == Place::kTensor) {
      for (std::size_t i = 0; i < std::size(kTensorKeys); ++i) {
        if (!is_seen_[i]) return refuse(this_tensor() + " has no " + std::string(kTensorKeys[i]));
      }
    }
    if (place_ == Place::kRoot) return are_apart() && enter(Place::kNowhere);
    if (place_ == Place::kOffsets && offset_count_ != 2) {
      return refuse("data_offsets of " + this_tensor() + " are not two numbers");
    }
    return enter(place_ == Place::kShape || place_ == Place::kOffsets ? Place::kTensor : Place::kRoot);
  }

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool comes_twice(const std::string& key) { return refuse("the key " + in_quotes(key) + " comes twice"); }
  bool are_apart() {
    std::vector<const std::string*> names;
    names.reserve(entries.size());
    for (const HeaderEntry& entry : entries) names.push_back(&entry.name);
    const auto text = [](const std::string* name) -> const std::string& { return *name; };
    std::ranges::sort(names, {}, text);
    const auto twice = std::ranges::adjacent_find(names, {}, text);
    return twice == names.end() || comes_twice(**twice);
  }
  std::string this_tensor() const { return "tensor " + in_quotes(entries.back().name); }
  bool unexpected(const std::string& what) {
    switch (place_) {
      case Place::kNowhere:
        return refuse("it is " + what + ", not an object");
      case Place::kRoot:
        return refuse(in_quotes(key_) + " is " + what + ", not an object");
      case Place::kMetadata:
        return refuse(in_quotes(key_) + " in __metadata__ is " + what + ", not a string");
      case Place::kTensor:
        return refuse(key_ + " of " + this_tensor() + " is " + what);
      default:
        return refuse(key_ + " of " + this_tensor() + " holds " + what);
    }
  }

  Place place_ = Place::kNowhere;
  std::string key_;
  std::unordered_set<std::string> metadata_;  // its keys
  bool has_metadata_ = false;
  bool is_seen_[std::size(kTensorKeys)] = {};  // keys seen in this tensor
  int offset_count_ = 0;
};

// Sorts by offset. An error if the tensors do not cover exactly the `data_bytes` of the file.
Status put_in_order(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes) {
  const auto fault = [](const HeaderEntry& entry, const std::string& what) {
    return Error{Code::kUnreadable, "tensor " + in_quotes(entry.name) + " " + what};
  };
  const auto place = [](const HeaderEntry& entry) { return std::pair(entry.begin, entry.end); };
  if (!std::ranges::is_sorted(entries, {}, place)) std::ranges::sort(entries, {}, place);
  std::uint64_t end = 0;
  for (const HeaderEntry& entry : entries) {
    const std::string range = std::to_string(entry.begin) + " to " + std::to_string(entry.end);
    if (entry.end < entry.begin) return fault(entry, "ends before it begins: " + range);
    if (entry.end > data_bytes) {
      return fault(entry, "has the bytes " + range + ", but " + std::to_string(data_bytes) + " follow the header");
    }
    if (entry.begin < end) return fault(entry, "overlaps the one before it: it has the bytes " + range);
    if (entry.begin > end) {
      return fault(entry, "begins behind a hole of " + std::to_string(entry.begin - end) + " bytes");
    }
    end = entry.end;
  }
  if (end == data_bytes) return {};
  return Error{Code::kUnreadable, std::to_string(data_bytes - end) + " bytes at its end belong to no tensor"};
}

// Converts a valid entry; moves its name and shape.
Result<StoredTensor> stored_tensor(HeaderEntry& entry, std::uint64_t data_offset_bytes) {
  const auto type = std::ranges::find(kDtypes, entry.dtype, &FormatDtype::name);
  if (type == std::end(kDtypes)) {
    return Error{Code::kUnsupported, "its dtype " + in_quotes(entry.dtype) + " is none of the format"};
  }
  const auto dtype = dtype_from(type->catalog_name);
  if (!dtype) {
    return Error{Code::kUnsupported, "dtype " + entry.dtype + " (" + std::string(type->catalog_name) +
                                         ") is not supported: " + std::string(type->advice)};
  }
  const auto [original, widest] = widened(*dtype);
  const auto count = element_count(entry.shape, size_bytes(*dtype));
  if (!count) return count.error();
  if (*count % elements_a_byte(*dtype) != 0) {
    return Error{Code::kUnreadable,
                 "shape " + to_string(entry.shape) + " of " + std::string(type->catalog_name) + " ends within a byte"};
  }
  const std::uint64_t needed = bytes_of(*dtype, *count);
  if (needed != entry.end - entry.begin) {
    return Error{Code::kUnreadable, "shape " + to_string(entry.shape) + " of " + std::string(type->catalog_name) +
                                        " needs " + std::to_string(needed) + " bytes, and it has " +
                                        std::to_string(entry.end - entry.begin)};
  }
  const std::uint64_t offset_bytes = data_offset_bytes + entry.begin;
  const bool is_packed = tensorstat::is_packed(*dtype);
  return StoredTensor{.name = std::move(entry.name),
                      .dtype = widest,
                      .original = original,
                      .swapped = !is_packed && std::endian::native != std::endian::little,
                      .shape = std::move(entry.shape),
                      .element_count = *count,
                      .offset_bytes = is_packed ? 0 : offset_bytes,
                      .is_packed = is_packed,
                      .packed_at_bytes = is_packed ? offset_bytes : 0};
}

// The length of the header; 0 if no such file begins with `head`.
std::uint64_t header_bytes(std::string_view head) {
  if (head.size() <= kHeaderLengthBytes) return 0;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(head[i])} << 8 * i;
  return length;
}

bool begins_as_safetensors(std::string_view head) {
  const std::uint64_t length = header_bytes(head);
  return length != 0 && length <= kMostHeaderBytes && head[kHeaderLengthBytes] == '{';
}

OpenedSource open_safetensors(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  const auto fail = [&](const std::string& what) {
    return Error{Code::kUnreadable, printable(file->path()) + ": " + what};
  };
  char head[kHeaderLengthBytes + 1];
  if (file->size_bytes() < sizeof head) return fail("is too short for a safetensors file");
  if (Status read = file->read_at(0, std::as_writable_bytes(std::span(head))); !read) return read.error();
  const std::uint64_t length = header_bytes({head, sizeof head});
  if (length > kMostHeaderBytes || length > file->size_bytes() - kHeaderLengthBytes) {
    return fail("its header would have " + std::to_string(length) + " bytes; " +
                (length > kMostHeaderBytes ? "at most 100000000 are allowed"
                                           : std::to_string(file->size_bytes() - kHeaderLengthBytes) + " are there"));
  }
  if (length == 0 || head[kHeaderLengthBytes] != '{') return fail("its header does not begin with {");
  std::string header(length, '\0');
  if (Status read = file->read_at(kHeaderLengthBytes, std::as_writable_bytes(std::span(header))); !read)
    return read.error();
  HeaderReader reader;
  if (Status read = reader.read(header); !read) return fail("has a damaged header: " + read.error().message);
  const std::uint64_t data_offset_bytes = kHeaderLengthBytes + length;
  if (Status ordered = put_in_order(reader.entries, file->size_bytes() - data_offset_bytes); !ordered) {
    return fail(ordered.error().message);
  }
  auto tensors = each_tensor(file->path(), reader.entries,
                             [&](HeaderEntry& each) { return stored_tensor(each, data_offset_bytes); });
  return source_of(std::move(file), std::move(tensors), options);
}

}  // namespace

extern const TensorFormat safetensors_format;
const TensorFormat safetensors_format = {".safetensors", begins_as_safetensors, open_safetensors};

}  // namespace tensorstat
