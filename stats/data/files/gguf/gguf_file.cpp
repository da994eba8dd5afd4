// .gguf: models of llama.cpp, versions 2 and 3. A header of keys and values, a list of tensors, and their data,
// aligned. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/gguf/block_formats.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/io/windowed_file.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kGgufMagic = "GGUF", kGgufBigEndianMagic = "FUGG";
constexpr std::uint64_t kGgufNameBytes = 65'535;  // ggml writes at most 63
constexpr std::uint64_t kGgufDimensions = 4;
constexpr std::uint64_t kGgufAlignment = 32;  // unless the key general.alignment says another one
constexpr int kGgufNesting = 8;

// ggml_type, by its number. Without a dtype, it is a block format, read if block_format() knows it.
struct GgmlType {
  std::uint32_t number;
  std::string_view name;
  std::optional<Dtype> dtype = {};
};
constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", Dtype::kFloat32},
    {1, "F16", Dtype::kFloat16},
    {2, "Q4_0"},
    {3, "Q4_1"},
    {6, "Q5_0"},
    {7, "Q5_1"},
    {8, "Q8_0"},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K"},
    {13, "Q5_K"},
    {14, "Q6_K"},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8", Dtype::kInt8},
    {25, "I16", Dtype::kInt16},
    {26, "I32", Dtype::kInt32},
    {27, "I64", Dtype::kInt64},
    {28, "F64", Dtype::kFloat64},
    {29, "IQ1_M"},
    {30, "BF16", Dtype::kBfloat16},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
    {40, "NVFP4"},
    {41, "Q1_0"},
    {42, "Q2_0"},
};

// Types of the values of keys.
enum : std::uint32_t { kGgufText = 8, kGgufArray = 9 };
std::uint64_t gguf_value_bytes(std::uint64_t type) {
  constexpr std::uint8_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

struct GgufTensor {
  std::string name;
  Shape shape;  // the last index runs fastest
  std::uint32_t type = 0;
  std::uint64_t offset_bytes = 0;  // from the beginning of the data
};

// The names of tensors that share bytes with another tensor. ggml never writes such a file.
std::unordered_map<std::string, std::string> overlapping(const std::vector<Result<StoredTensor>>& tensors) {
  struct Place {
    std::uint64_t begin, end;
    const std::string* name;
  };
  std::vector<Place> places;
  for (const Result<StoredTensor>& tensor : tensors) {
    if (!tensor || tensor->element_count == 0) continue;
    const std::uint64_t begin = tensor->blocks ? tensor->packed_at_bytes : tensor->offset_bytes;
    const std::uint64_t bytes = tensor->blocks ? tensor->element_count / tensor->blocks->values * tensor->blocks->bytes
                                               : tensor->element_count * size_bytes(tensor->dtype);
    places.push_back({begin, begin + bytes, &*tensor->name});
  }
  std::ranges::sort(places, {}, &Place::begin);
  std::unordered_map<std::string, std::string> others;
  const Place* last = nullptr;  // the one that reaches furthest
  for (const Place& place : places) {
    if (last != nullptr && place.begin < last->end) {
      others.try_emplace(*place.name, *last->name);
      others.try_emplace(*last->name, *place.name);
    }
    if (last == nullptr || place.end > last->end) last = &place;
  }
  return others;
}

class GgufHeader {
 public:
  explicit GgufHeader(const RandomFile& file) : file_(file) {}

  std::vector<GgufTensor> tensors;
  std::uint64_t data_offset_bytes = 0;
  std::uint64_t alignment() const { return alignment_; }

  Status read() {
    at_ = kGgufMagic.size();
    const auto version = number(4);
    if (!version) return version.error();
    if (Status known = check_version(*version); !known) return known;
    const auto tensor_count = number(8), key_count = tensor_count ? number(8) : tensor_count;
    if (!key_count) return key_count.error();
    for (std::uint64_t i = 0; i < *key_count; ++i) {
      if (Status read = read_key(); !read) return read;
    }
    std::unordered_set<std::string> names;
    for (std::uint64_t i = 0; i < *tensor_count; ++i) {
      auto tensor = read_tensor();
      if (!tensor) return tensor.error();
      if (!names.insert(tensor->name).second) return fault("has the tensor " + in_quotes(tensor->name) + " twice");
      tensors.push_back(*std::move(tensor));
    }
    data_offset_bytes = (at_ + alignment_ - 1) / alignment_ * alignment_;
    return {};
  }

 private:
  Error fault(const std::string& what) const { return {Code::kUnreadable, printable(file_.path()) + ": " + what}; }
  Error damaged(const std::string& what) const {
    return fault("is damaged at its byte " + std::to_string(at_) + ": " + what);
  }

  Status check_version(std::uint64_t version) const {
    const auto refused = [&](const std::string& what) {
      return Error{Code::kUnsupported, printable(file_.path()) + ": is a GGUF file " + what};
    };
    if ((version & 0xffff) == 0 && version != 0) return refused("in big-endian order, which is not read");
    if (version == 2 || version == 3) return {};
    return refused("of version " + std::to_string(version) + ", which is not read; versions 2 and 3 are" +
                   (version < 2 ? ". Convert the model anew with llama.cpp" : ""));
  }

  Status pass(std::uint64_t bytes) {
    if (bytes > file_.size_bytes() - at_) {
      return damaged(std::to_string(bytes) + " bytes, and the file has " + std::to_string(file_.size_bytes() - at_) +
                     " more");
    }
    at_ += bytes;
    return {};
  }
  Result<std::uint64_t> number(unsigned bytes) {
    if (Status there = pass(bytes); !there) return there.error();
    return file_.number_at(at_ - bytes, bytes);
  }
  Result<std::string> text() {
    const auto bytes = number(8);
    if (!bytes) return bytes.error();
    if (*bytes > kGgufNameBytes) return damaged("a name of " + std::to_string(*bytes) + " bytes");
    if (Status there = pass(*bytes); !there) return there.error();
    return file_.text_at(at_ - *bytes, *bytes);
  }

  Status pass_text() {
    const auto bytes = number(8);
    return bytes ? pass(*bytes) : Status(bytes.error());
  }
  Status pass_value(std::uint64_t type, int depth) {
    if (type == kGgufText) return pass_text();
    if (const std::uint64_t bytes = gguf_value_bytes(type); bytes != 0) return pass(bytes);
    if (type != kGgufArray) return damaged("a value of the unknown type " + std::to_string(type));
    if (depth == kGgufNesting) return damaged("arrays are nested too deep");
    const auto element_type = number(4), count = element_type ? number(8) : element_type;
    if (!count) return count.error();
    if (const std::uint64_t bytes = gguf_value_bytes(*element_type); bytes != 0) {
      std::uint64_t all = 0;
      if (__builtin_mul_overflow(bytes, *count, &all)) return damaged("an array of more than 2^64 bytes");
      return pass(all);
    }
    for (std::uint64_t i = 0; i < *count; ++i) {
      if (Status passed = pass_value(*element_type, depth + 1); !passed) return passed;
    }
    return {};
  }

  Status read_key() {
    const auto key = text();
    if (!key) return key.error();
    const auto type = number(4);
    if (!type) return type.error();
    if (*key != "general.alignment") return pass_value(*type, 0);
    const std::uint64_t bytes = gguf_value_bytes(*type);
    const auto value = number(static_cast<unsigned>(bytes));
    if (!value) return value.error();
    if (bytes != 4 || !std::has_single_bit(*value)) return damaged("general.alignment is no power of two");
    alignment_ = *value;
    return {};
  }

  Result<GgufTensor> read_tensor() {
    GgufTensor tensor;
    auto name = text();
    if (!name) return name.error();
    tensor.name = *std::move(name);
    const auto dimensions = number(4);
    if (!dimensions) return dimensions.error();
    if (*dimensions > kGgufDimensions) {
      return damaged("tensor " + in_quotes(tensor.name) + " has " + std::to_string(*dimensions) +
                     " dimensions; at most 4 are allowed");
    }
    for (std::uint64_t i = 0; i < *dimensions; ++i) {
      const auto length = number(8);
      if (!length) return length.error();
      tensor.shape.insert(tensor.shape.begin(), *length);  // the file has the fastest dimension first
    }
    const auto type = number(4), offset = type ? number(8) : type;
    if (!offset) return offset.error();
    tensor.type = static_cast<std::uint32_t>(*type);
    tensor.offset_bytes = *offset;
    return tensor;
  }

  WindowedFile file_;
  std::uint64_t at_ = 0, alignment_ = kGgufAlignment;
};

// A tensor. Its data must lie within the `there` bytes from data_offset_bytes on.
Result<StoredTensor> stored_gguf(GgufTensor& tensor, std::uint64_t data_offset_bytes, std::uint64_t there) {
  const auto unreadable = [](const std::string& what) { return Error{Code::kUnreadable, what}; };
  const auto* type = std::ranges::find(kGgmlTypes, tensor.type, &GgmlType::number);
  if (type == std::end(kGgmlTypes)) {
    return Error{Code::kUnsupported, "has the unknown type " + std::to_string(tensor.type)};
  }
  const BlockFormat* blocks = type->dtype ? nullptr : block_format(type->name);
  if (!type->dtype && blocks == nullptr) {
    return Error{Code::kUnsupported, "has the type " + std::string(type->name) + ", which is not read"};
  }
  const Dtype dtype = type->dtype.value_or(Dtype::kFloat32);
  const auto count = element_count(tensor.shape, size_bytes(dtype));
  if (!count) return count.error();
  if (blocks != nullptr && !tensor.shape.empty() && tensor.shape.back() % blocks->values != 0) {
    return unreadable("shape " + to_string(tensor.shape) + " of " + std::string(blocks->name) +
                      " does not end with a block of " + std::to_string(blocks->values));
  }
  if (blocks != nullptr && tensor.shape.empty()) return unreadable("is a scalar of " + std::string(blocks->name));
  const std::uint64_t needed = blocks ? *count / blocks->values * blocks->bytes : *count * size_bytes(dtype);
  if (tensor.offset_bytes > there || needed > there - tensor.offset_bytes) {
    return unreadable("shape " + to_string(tensor.shape) + " of " + std::string(type->name) + " needs " +
                      std::to_string(needed) + " bytes at " + std::to_string(tensor.offset_bytes) +
                      ", and the file has " + std::to_string(there) + " bytes of data");
  }
  const std::uint64_t offset = data_offset_bytes + tensor.offset_bytes;
  return StoredTensor{.name = std::move(tensor.name),
                      .dtype = dtype,
                      .swapped = blocks == nullptr && std::endian::native != std::endian::little,
                      .shape = std::move(tensor.shape),
                      .element_count = *count,
                      .offset_bytes = blocks ? 0 : offset,
                      .is_packed = blocks != nullptr,
                      .packed_at_bytes = blocks ? offset : 0,
                      .blocks = blocks};
}

// An error where another GGUF file begins behind the last tensor: its tensors are not read.
Status nothing_behind(const RandomFile& file, const std::vector<Result<StoredTensor>>& tensors,
                      std::uint64_t data_offset_bytes, std::uint64_t alignment) {
  std::uint64_t end = data_offset_bytes;
  for (const Result<StoredTensor>& tensor : tensors) {
    if (!tensor) return {};  // how far it goes is not known
    const std::uint64_t bytes = tensor->blocks ? tensor->element_count / tensor->blocks->values * tensor->blocks->bytes
                                               : tensor->element_count * size_bytes(tensor->dtype);
    end = std::max(end, (tensor->blocks ? tensor->packed_at_bytes : tensor->offset_bytes) + bytes);
  }
  char magic[kGgufMagic.size()] = {};
  for (const std::uint64_t begin : {end, end + (alignment - (end - data_offset_bytes) % alignment) % alignment}) {
    if (begin > file.size_bytes() || file.size_bytes() - begin < sizeof magic) continue;
    if (Status read = file.read_at(begin, std::as_writable_bytes(std::span(magic))); !read) return read;
    if (std::string_view(magic, sizeof magic) != kGgufMagic) continue;
    return Error{Code::kUnsupported, printable(file.path()) + ": another GGUF file begins at its byte " +
                                         std::to_string(begin) + ", which is not read: split it first"};
  }
  return {};
}

bool begins_as_gguf(std::string_view head) {
  return head.starts_with(kGgufMagic) || head.starts_with(kGgufBigEndianMagic);
}

OpenedSource open_gguf(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  char magic[kGgufMagic.size()] = {};
  if (file->size_bytes() >= sizeof magic) {
    if (Status read = file->read_at(0, std::as_writable_bytes(std::span(magic))); !read) return read.error();
  }
  const std::string_view begins(magic, sizeof magic);
  if (begins != kGgufMagic) {
    return begins == kGgufBigEndianMagic
               ? Error{Code::kUnsupported,
                       printable(file->path()) + ": is a GGUF file in big-endian order, which is not read"}
               : Error{Code::kUnreadable, printable(file->path()) + ": does not begin as a GGUF file does"};
  }
  GgufHeader header(*file);
  if (Status read = header.read(); !read) return read.error();
  const std::uint64_t size = file->size_bytes();
  const std::uint64_t data_offset =
      options.head_only ? header.data_offset_bytes : std::min(header.data_offset_bytes, size);
  const std::uint64_t there = (options.head_only ? std::uint64_t{INT64_MAX} : size) - data_offset;
  auto tensors = each_tensor(file->path(), header.tensors,
                             [&](GgufTensor& each) { return stored_gguf(each, data_offset, there); });
  const auto others = overlapping(tensors);
  for (Result<StoredTensor>& tensor : tensors) {
    const auto other = tensor ? others.find(*tensor->name) : others.end();
    if (other == others.end()) continue;
    tensor =
        error_of_tensor(file->path(), other->first,
                        {Code::kUnreadable, "shares bytes with " + in_quotes(other->second) + ": the file is damaged"});
  }
  if (Status behind = nothing_behind(*file, tensors, data_offset, header.alignment()); !behind)
    tensors.push_back(behind.error());
  // If only the header is wanted, the elements may be missing.
  return source_of(std::move(file), std::move(tensors), options, options.head_only ? std::uint64_t{INT64_MAX} : 0);
}

}  // namespace

extern const TensorFormat gguf_format;
const TensorFormat gguf_format = {".gguf", begins_as_gguf, open_gguf};

}  // namespace tensorstat
