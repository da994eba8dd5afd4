// .onnx: the initializers and constants of a model, inside of it or in files beside it.
#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/joined_bytes.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/onnx/onnx_model.hpp"
#include "stats/data/files/protobuf/number_bytes.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

// TensorProto.DataType. `field`: where the elements are if not in raw_data.
struct OnnxType {
  std::uint32_t number;
  std::string_view name;
  std::optional<Dtype> dtype;
  OnnxData field = OnnxData::kInt32;
};
constexpr OnnxType kOnnxTypes[] = {
    {1, "FLOAT", Dtype::kFloat32, OnnxData::kFloat},
    {2, "UINT8", Dtype::kUint8},
    {3, "INT8", Dtype::kInt8},
    {4, "UINT16", Dtype::kUint16},
    {5, "INT16", Dtype::kInt16},
    {6, "INT32", Dtype::kInt32},
    {7, "INT64", Dtype::kInt64, OnnxData::kInt64},
    {9, "BOOL", Dtype::kBool},
    {10, "FLOAT16", Dtype::kFloat16},
    {11, "DOUBLE", Dtype::kFloat64, OnnxData::kDouble},
    {12, "UINT32", Dtype::kUint32, OnnxData::kUint64},
    {13, "UINT64", Dtype::kUint64, OnnxData::kUint64},
    {14, "COMPLEX64", Dtype::kComplex64, OnnxData::kFloat},
    {15, "COMPLEX128", Dtype::kComplex128, OnnxData::kDouble},
    {16, "BFLOAT16", Dtype::kBfloat16},
    {17, "FLOAT8E4M3FN", Dtype::kFloat8E4m3fn},
    {18, "FLOAT8E4M3FNUZ", Dtype::kFloat8E4m3fnuz},
    {19, "FLOAT8E5M2", Dtype::kFloat8E5m2},
    {20, "FLOAT8E5M2FNUZ", Dtype::kFloat8E5m2fnuz},
    {21, "UINT4", Dtype::kUint4},
    {22, "INT4", Dtype::kInt4},
    {23, "FLOAT4E2M1", Dtype::kFloat4E2m1fn},
    {24, "FLOAT8E8M0", Dtype::kFloat8E8m0fnu},
    {25, "UINT2", std::nullopt},
    {26, "INT2", std::nullopt},
};

Error onnx_unsupported(const std::string& what) { return {Code::kUnsupported, what}; }
Error onnx_unreadable(const std::string& what) { return {Code::kUnreadable, what}; }

// Whether the path leads to a file below the model's folder, without a step out of it.
bool stays_below(std::string_view location) {
  if (location.empty() || location.front() == '/' || location.find('\0') != location.npos) return false;
  for (std::size_t begin = 0; begin <= location.size();) {
    const std::size_t end = std::min(location.find('/', begin), location.size());
    if (location.substr(begin, end - begin) == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string onnx_beside(const std::string& path, const std::string& location) {
  return path.substr(0, path.rfind('/') + 1) + location;  // npos + 1 is 0
}

// The files of external data, each opened once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string model) : model_(std::move(model)) {}

  Result<std::shared_ptr<const RandomFile>> open(const std::string& location) {
    if (!stays_below(location)) {
      return onnx_unreadable("its elements are in " + in_quotes(location) +
                             ", which is not below the folder of the model: not opened");
    }
    auto [entry, is_new] = files_.try_emplace(plain(location), nullptr);
    if (!is_new) return entry->second;
    auto opened = RandomFile::open(onnx_beside(model_, location));
    if (!opened) {
      files_.erase(entry);
      return onnx_unreadable("its elements are in another file: " + opened.error().message);
    }
    return entry->second = std::make_shared<const RandomFile>(*std::move(opened));
  }

  std::uint64_t bytes() const {  // of all that were opened
    std::uint64_t all = 0;
    for (const auto& [location, file] : files_) all += file->size_bytes();
    return all;
  }

 private:
  // "a/b" for "./a//b": one file, opened once.
  static std::string plain(std::string_view location) {
    std::string path;
    for (std::size_t begin = 0; begin <= location.size();) {
      const std::size_t end = std::min(location.find('/', begin), location.size());
      const std::string_view part = location.substr(begin, end - begin);
      if (!part.empty() && part != ".") path.append(path.empty() ? "" : "/").append(part);
      begin = end + 1;
    }
    return path;
  }

  const std::string model_;
  std::map<std::string, std::shared_ptr<const RandomFile>> files_;
};

Result<std::uint64_t> decimal(const std::optional<std::string>& text, std::uint64_t otherwise, std::string_view what) {
  if (!text) return otherwise;
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (problem == std::errc() && end == text->data() + text->size()) return number;
  return onnx_unreadable("the " + std::string(what) + " of its elements is " + in_quotes(*text) +
                         ", which is no number");
}

// Where `needed` bytes of a tensor's elements are.
Result<std::unique_ptr<ByteSource>> external_bytes(const OnnxTensor& tensor, std::uint64_t needed,
                                                   ExternalFiles& files) {
  const auto file = files.open(tensor.location);
  if (!file) return file.error();
  const auto offset = decimal(tensor.offset, 0, "offset"), length = decimal(tensor.length, needed, "length");
  if (!offset || !length) return offset ? length.error() : offset.error();
  const std::uint64_t size = (*file)->size_bytes();
  if (*length != needed || *offset > size || needed > size - *offset) {
    return onnx_unreadable("needs " + std::to_string(needed) + " bytes, and has " + std::to_string(*length) + " at " +
                           std::to_string(*offset) + " of " + in_quotes(tensor.location) + ", which has " +
                           std::to_string(size));
  }
  return joined_bytes(*file, {{*offset, needed}});
}

Result<SourcedTensor> sourced_onnx(const std::shared_ptr<const RandomFile>& file, OnnxTensor& from,
                                   ExternalFiles& files) {
  if (from.is_segment) return onnx_unsupported("is a segment of a tensor, which is not read");
  constexpr std::uint64_t kText = 8;
  if (from.data_type == kText) return Error{Code::kNoNumbers, "holds texts, which have no statistics"};
  const auto* type = std::ranges::find(kOnnxTypes, from.data_type, &OnnxType::number);
  if (type == std::end(kOnnxTypes)) return onnx_unsupported("has the unknown type " + std::to_string(from.data_type));
  if (!type->dtype) return onnx_unsupported("has the type " + std::string(type->name) + ", which is not read");
  const auto [original, dtype] = widened(*type->dtype);
  const auto count = element_count(from.shape, size_bytes(dtype));
  if (!count) return count.error();
  const std::uint64_t needed = bytes_of(*type->dtype, *count);
  const std::string wants = "shape " + to_string(from.shape) + " of " + std::string(type->name) + " needs " +
                            std::to_string(needed) + " bytes, and it has ";
  SourcedTensor tensor{{.name = from.name,
                        .dtype = dtype,
                        .original = original,
                        .shape = std::move(from.shape),
                        .element_count = *count,
                        .is_packed = is_packed(*type->dtype)}};
  const bool is_raw = from.is_external || from.field == OnnxData::kRaw;
  const bool has_bytes = is_raw || from.field == OnnxData::kFloat || from.field == OnnxData::kDouble;
  tensor.stored.swapped = has_bytes && !tensor.stored.is_packed && std::endian::native != std::endian::little;
  if (from.is_external) {
    auto bytes = external_bytes(from, needed, files);
    if (!bytes) return bytes.error();
    tensor.bytes = *std::move(bytes);
    return tensor;
  }
  if (from.has_several_fields) return onnx_unreadable("has elements in more than one field");
  if (!is_raw && from.field != type->field) {
    return onnx_unreadable("has its elements in a field that " + std::string(type->name) + " does not use");
  }
  std::uint64_t there = 0;
  for (const ByteRange& piece : from.data) there += piece.bytes;
  if (has_bytes) {
    if (there != needed) return onnx_unreadable(wants + std::to_string(there));
    tensor.bytes = joined_bytes(file, std::move(from.data));
  } else {
    // In a packed dtype each number is a byte with two elements.
    const unsigned each = size_bytes(dtype);
    if (there < needed / each) {
      return onnx_unreadable("has at most " + std::to_string(there) + " numbers, and its shape needs " +
                             std::to_string(needed / each));
    }
    tensor.bytes = number_bytes(file, std::move(from.data), needed / each, each,
                                printable_name(tensor_label(file->path(), from.name)));
  }
  return tensor;
}

OpenedSource open_onnx_tensors(std::shared_ptr<const RandomFile> file, std::vector<OnnxTensor> records,
                               const ReadOptions& options) {
  ExternalFiles files(file->path());
  auto tensors = each_tensor(file->path(), records, [&](OnnxTensor& each) { return sourced_onnx(file, each, files); });
  return source_of(std::move(file), std::move(tensors), options, files.bytes());
}

OpenedSource open_onnx(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto model = read_onnx_model(*file);
  if (!model) return model.error();
  return open_onnx_tensors(std::move(file), *std::move(model), options);
}

// A tensor, or a model. TensorFlow writes files of this name, too.
OpenedSource open_onnx_pb(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto tensors = read_onnx_tensor(*file);
  if (!tensors) tensors = read_onnx_model(*file);
  if (tensors) return open_onnx_tensors(std::move(file), *std::move(tensors), options);
  return Error{Code::kUnsupported, printable(file->path()) +
                                       ": a protobuf file that is no tensor and no model of ONNX, such as a graph of "
                                       "TensorFlow; not supported"};
}

// Only the name tells it: a message has no magic number.
bool begins_as_onnx(std::string_view) { return false; }

std::vector<std::string> onnx_parts(const std::string& path) {
  std::vector<std::string> paths;
  const auto file = RandomFile::open(path);
  const auto model = file ? read_onnx_model(*file) : Result<std::vector<OnnxTensor>>(file.error());
  if (!model) return paths;  // opening it reports the error
  for (const OnnxTensor& tensor : *model) {
    if (!tensor.is_external || !stays_below(tensor.location)) continue;
    if (paths.empty() || paths.back() != onnx_beside(path, tensor.location)) {
      paths.push_back(onnx_beside(path, tensor.location));
    }
  }
  return paths;
}

}  // namespace

extern const TensorFormat onnx_format;
const TensorFormat onnx_format = {
    .extension = ".onnx", .begins = begins_as_onnx, .open = open_onnx, .parts = onnx_parts};

extern const TensorFormat onnx_pb_format;
const TensorFormat onnx_pb_format = {
    .extension = ".pb", .begins = begins_as_onnx, .open = open_onnx_pb, .label = ".pb of ONNX", .parts = onnx_parts};

}  // namespace tensorstat
