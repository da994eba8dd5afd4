// .ckpt: MindSpore's checkpoints, Protocol Buffers of parameters. torch.save and Lightning write files of this name,
// too; those are told by their content. Format: mindspore/ccsrc/utils/checkpoint.proto of
// https://gitee.com/mindspore/mindspore, as mindspore/train/serialization.py writes it. tests/python/checkpoint.proto
// has the same definition for protoc.
#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/io/joined_bytes.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/protobuf/wire_format.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kCkptChunks = 1'000'000;

// With crc_check, the file ends in this word and ten bytes of a number.
constexpr std::string_view kCrcWord = "crc_num";
constexpr std::uint64_t kCrcBytes = kCrcWord.size() + 10;

struct CkptDtype {
  std::string_view tensor_type;
  Dtype dtype;
};
constexpr CkptDtype kCkptDtypes[] = {
    {"Float32", Dtype::kFloat32}, {"Float16", Dtype::kFloat16},     {"BFloat16", Dtype::kBfloat16},
    {"Float64", Dtype::kFloat64}, {"Int8", Dtype::kInt8},           {"Int16", Dtype::kInt16},
    {"Int32", Dtype::kInt32},     {"Int64", Dtype::kInt64},         {"UInt8", Dtype::kUint8},
    {"UInt16", Dtype::kUint16},   {"UInt32", Dtype::kUint32},       {"UInt64", Dtype::kUint64},
    {"Bool", Dtype::kBool},       {"Complex64", Dtype::kComplex64}, {"Complex128", Dtype::kComplex128},
};

// Fields of the messages.
enum : std::uint32_t { kCkptValue = 1, kCkptTag = 1, kCkptTensor = 2, kCkptMap = 3 };
enum : std::uint32_t { kCkptDims = 1, kCkptType = 2, kCkptContent = 3 };
constexpr std::string_view kCkptMapType = "map parameter";  // keys and values of several tensors

// A parameter. One of more than 512 MiB is in several chunks, which follow one another with the same tag, shape and
// type.
struct CkptParameter {
  std::string name, type;  // the name is the tag
  Shape shape;
  std::vector<ByteRange> chunks;
};

class CkptParser {
 public:
  explicit CkptParser(const RandomFile& file) : window_(file) {}

  std::vector<CkptParameter> parameters;

  Status parse(ByteRange message) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number != kCkptValue || !field.is_bytes) return fault("a field that no checkpoint has", field);
      CkptParameter read;
      if (Status status = parse_value(field.bytes, read); !status) return status;
      if (read.chunks.size() != 1) return fault("a parameter without a tag or content", field);
      CkptParameter* last = parameters.empty() ? nullptr : &parameters.back();
      if (last == nullptr || last->name != read.name) {
        if (!tags_.insert(read.name).second)
          return fault("the parameter " + in_quotes(read.name) + " comes again", field);
        parameters.push_back(std::move(read));
      } else if (last->shape != read.shape || last->type != read.type || last->chunks.size() == kCkptChunks) {
        return fault("the chunks of " + in_quotes(read.name) + " differ in shape or type", field);
      } else {
        last->chunks.push_back(read.chunks.front());
      }
      return {};
    });
  }

 private:
  Error fault(const std::string& what, const WireField& field) const {
    return {Code::kUnreadable, printable(window_.path()) + ": is no checkpoint of MindSpore, or damaged, at its byte " +
                                   std::to_string(field.bytes.offset_bytes) + ": " + what};
  }

  Status parse_value(ByteRange message, CkptParameter& to) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.number == kCkptTag) return read_text(window_, field, to.name);
      if (field.number == kCkptMap && field.is_bytes) {
        to.type = kCkptMapType;
        to.chunks = {field.bytes};
      }
      if (field.number != kCkptTensor || !field.is_bytes) return {};
      return for_each_field(window_, field.bytes, [&](const WireField& part) -> Status {
        if (part.number == kCkptDims) return append_dimensions(window_, part, kMostDimensions, to.shape);
        if (part.number == kCkptType) return read_text(window_, part, to.type);
        if (part.number == kCkptContent && part.is_bytes) to.chunks = {part.bytes};
        return {};
      });
    });
  }

  WindowedFile window_;
  std::unordered_set<std::string> tags_;
};

Result<SourcedTensor> sourced_ckpt(const std::shared_ptr<const RandomFile>& file, CkptParameter& from) {
  const auto* type = std::ranges::find(kCkptDtypes, from.type, &CkptDtype::tensor_type);
  if (from.type == kCkptMapType) return Error{Code::kUnsupported, "is a map parameter, which is not read"};
  if (from.type == "str") return Error{Code::kNoNumbers, "is a text, which has no statistics"};
  if (type == std::end(kCkptDtypes)) {
    return Error{Code::kUnsupported, "has the type " + in_quotes(from.type) + ", which is not read"};
  }
  const std::uint64_t size = size_bytes(type->dtype);
  std::uint64_t there = 0;
  for (const ByteRange& chunk : from.chunks) there += chunk.bytes;
  if (from.shape == Shape{0} && there == size) from.shape.clear();  // how a scalar is written
  const auto count = element_count(from.shape, size);
  if (!count) return count.error();
  if (*count * size != there) {
    return Error{Code::kUnreadable, "shape " + to_string(from.shape) + " of " + from.type + " needs " +
                                        std::to_string(*count * size) + " bytes, and it has " + std::to_string(there)};
  }
  const bool is_whole = from.chunks.size() == 1;
  return SourcedTensor{{.name = std::move(from.name),
                        .dtype = type->dtype,
                        .swapped = size > 1 && std::endian::native != std::endian::little,
                        .shape = std::move(from.shape),
                        .element_count = *count,
                        .offset_bytes = is_whole ? from.chunks.front().offset_bytes : 0},
                       is_whole ? nullptr : joined_bytes(file, std::move(from.chunks))};
}

OpenedSource open_ckpt(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  std::uint64_t bytes = file->size_bytes();
  if (bytes >= kCrcBytes) {
    char word[kCrcWord.size()];
    if (Status read = file->read_at(bytes - kCrcBytes, std::as_writable_bytes(std::span(word))); !read) {
      return read.error();
    }
    if (std::string_view(word, sizeof word) == kCrcWord) bytes -= kCrcBytes;
  }
  CkptParser parser(*file);
  if (Status parsed = parser.parse({0, bytes}); !parsed) return parsed.error();
  auto tensors =
      each_tensor(file->path(), parser.parameters, [&](CkptParameter& each) { return sourced_ckpt(file, each); });
  return source_of(std::move(file), std::move(tensors), options);
}

// Only the name tells it: other messages begin alike, and have no magic number.
bool begins_as_ckpt(std::string_view) { return false; }

}  // namespace

extern const TensorFormat ckpt_format;
const TensorFormat ckpt_format = {".ckpt", begins_as_ckpt, open_ckpt};

}  // namespace tensorstat
