#include "stats/data/files/ascend/dump_data.hpp"

#include <algorithm>
#include <array>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/protobuf/wire_format.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

constexpr DumpDtype kDumpDtypes[] = {
    {1, "DT_FLOAT", "float32", 32},
    {2, "DT_FLOAT16", "float16", 16},
    {3, "DT_INT8", "int8", 8},
    {4, "DT_UINT8", "uint8", 8},
    {5, "DT_INT16", "int16", 16},
    {6, "DT_UINT16", "uint16", 16},
    {7, "DT_INT32", "int32", 32},
    {8, "DT_INT64", "int64", 64},
    {9, "DT_UINT32", "uint32", 32},
    {10, "DT_UINT64", "uint64", 64},
    {11, "DT_BOOL", "bool", 8},
    {12, "DT_DOUBLE", "float64", 64},
    {16, "DT_COMPLEX64", "complex64", 64},
    {17, "DT_COMPLEX128", "complex128", 128},
    {27, "DT_BF16", "bfloat16", 16},
    {28, "DT_INT4", "int4", 4},
    {29, "DT_UINT1", "uint1", 1},
    {30, "DT_INT2", "int2", 2},
    {31, "DT_UINT2", "uint2", 2},
    {32, "DT_COMPLEX32", "complex32", 32},
    {33, "DT_HIFLOAT8", "hifloat8", 8},
    {34, "DT_FLOAT8_E5M2", "float8_e5m2", 8},
    {35, "DT_FLOAT8_E4M3FN", "float8_e4m3fn", 8},
    {36, "DT_FLOAT8_E8M0", "float8_e8m0fnu", 8},
    {37, "DT_FLOAT6_E3M2", "float6_e3m2fn", 6},
    {38, "DT_FLOAT6_E2M3", "float6_e2m3fn", 6},
    {39, "DT_FLOAT4_E2M1", "float4_e2m1fn", 4},
    {40, "DT_FLOAT4_E1M2", "float4_e1m2", 4},
};

// Indexed by the number in the message.
constexpr std::string_view kAscendFormats[] = {"NCHW",
                                               "NHWC",
                                               "ND",
                                               "NC1HWC0",
                                               "FRACTAL_Z",
                                               "NC1C0HWPAD",
                                               "NHWC1C0",
                                               "FSR_NCHW",
                                               "FRACTAL_DECONV",
                                               "C1HWNC0",
                                               "FRACTAL_DECONV_TRANSPOSE",
                                               "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                               "NC1HWC0_C04",
                                               "FRACTAL_Z_C04",
                                               "CHWN",
                                               "FRACTAL_DECONV_SP_STRIDE8_TRANS",
                                               "HWCN",
                                               "NC1KHKWHWC0",
                                               "BN_WEIGHT",
                                               "FILTER_HWCK",
                                               "HASHTABLE_LOOKUP_LOOKUPS",
                                               "HASHTABLE_LOOKUP_KEYS",
                                               "HASHTABLE_LOOKUP_VALUE",
                                               "HASHTABLE_LOOKUP_OUTPUT",
                                               "HASHTABLE_LOOKUP_HITS",
                                               "C1HWNCoC0",
                                               "MD",
                                               "NDHWC",
                                               "FRACTAL_ZZ",
                                               "FRACTAL_NZ",
                                               "NCDHW",
                                               "DHWCN",
                                               "NDC1HWC0",
                                               "FRACTAL_Z_3D",
                                               "CN",
                                               "NC",
                                               "DHWNC",
                                               "FRACTAL_Z_3D_TRANSPOSE",
                                               "FRACTAL_ZN_LSTM",
                                               "FRACTAL_Z_G",
                                               "RESERVED",
                                               "ALL",
                                               "NULL",
                                               "ND_RNN_BIAS",
                                               "FRACTAL_ZN_RNN",
                                               "YUV",
                                               "YUV_A",
                                               "NCL",
                                               "FRACTAL_Z_WINO",
                                               "C1HWC0"};
constexpr std::int32_t kNd = 2, kReserved = 40;

// Field numbers of the messages that are read or written.
namespace dump_data {
enum : std::uint32_t { kVersion = 1, kTime, kOutput, kInput, kBuffer, kOpName, kSpace = 8, kLast };
}
namespace shape {
enum : std::uint32_t { kDim = 1 };
}
struct TensorFields {
  std::uint32_t data_type, format, shape, data, size;
  std::uint32_t original_shape = 0, sub_format = 0, original_op = 0;
};
constexpr TensorFields kInputFields{1, 2, 3, 4, 5, 6, 7, 0}, kOutputFields{1, 2, 3, 5, 6, 7, 8, 4};
namespace original_op {
enum : std::uint32_t { kFormat = 4 };
}
// The fields of OpBuffer and Workspace.
constexpr TensorFields kOtherFields{.data_type = 0, .format = 0, .shape = 0, .data = 2, .size = 3};

class Parser {
 public:
  explicit Parser(const RandomFile& file) : file_(file), window_(file) {}

  Status parse(ByteRange message) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (!field.is_bytes) return {};
      switch (field.number) {
        case dump_data::kOutput:
          return add_tensor(field.bytes, kOutputFields, dumped.outputs);
        case dump_data::kInput:
          return add_tensor(field.bytes, kInputFields, dumped.inputs);
        case dump_data::kBuffer:
          return add_tensor(field.bytes, kOtherFields, buffers_);
        case dump_data::kSpace:
          return add_tensor(field.bytes, kOtherFields, spaces_);
      }
      return {};
    });
  }

  // Sets the byte range of each tensor. The ranges follow one another from `offset_bytes` and must fill the file.
  Status place_from(std::uint64_t offset_bytes) {
    const std::uint64_t there = file_.size_bytes() - offset_bytes;
    std::uint64_t taken = 0;
    bool fits = true;
    for (auto* tensors : {&dumped.inputs, &dumped.outputs, &buffers_, &spaces_}) {
      for (DumpDataTensor& tensor : *tensors) {
        tensor.data = {offset_bytes + taken, tensor.size_bytes};
        fits = fits && tensor.size_bytes <= there - taken;
        if (fits) taken += tensor.size_bytes;
      }
    }
    if (!fits) {
      return fault("its tensors need more than the " + std::to_string(there) + " bytes that follow the message");
    }
    if (taken != there) return fault(std::to_string(there - taken) + " bytes at its end belong to no tensor");
    return {};
  }

  // For files with nothing but the message: the message holds the tensors' bytes, and so their sizes.
  void place_inside() {
    for (auto* tensors : {&dumped.inputs, &dumped.outputs}) {
      for (DumpDataTensor& tensor : *tensors) tensor.size_bytes = tensor.data.bytes;
    }
  }

  DumpData dumped;

 private:
  Error fault(const std::string& what) const { return {Code::kUnreadable, printable(file_.path()) + ": " + what}; }

  Status add_tensor(ByteRange message, const TensorFields& fields, std::vector<DumpDataTensor>& to) {
    if (dumped.inputs.size() + dumped.outputs.size() + buffers_.size() + spaces_.size() == kMostDumpTensors) {
      return fault("names more than " + std::to_string(kMostDumpTensors) + " tensors");
    }
    DumpDataTensor& tensor = to.emplace_back();
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.is_number && field.number == fields.data_type) {
        tensor.data_type = static_cast<std::int32_t>(field.value);
      }
      if (field.is_number && field.number == fields.format) tensor.format = static_cast<std::int32_t>(field.value);
      if (field.is_number && field.number == fields.size) tensor.size_bytes = field.value;
      if (field.is_number && field.number == fields.sub_format) tensor.groups = static_cast<std::int32_t>(field.value);
      if (field.is_bytes && field.number == fields.data) tensor.data = field.bytes;
      if (!field.is_bytes) return {};
      if (field.number == fields.shape) return add_dimensions(field.bytes, tensor.shape);
      if (field.number == fields.original_shape) return add_dimensions(field.bytes, tensor.original_shape);
      if (field.number == fields.original_op) return read_original_op(field.bytes, tensor.original_format);
      return {};
    });
  }

  Status read_original_op(ByteRange message, std::int32_t& format) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      if (field.is_number && field.number == original_op::kFormat) format = static_cast<std::int32_t>(field.value);
      return {};
    });
  }

  Status add_dimensions(ByteRange message, Shape& to) {
    return for_each_field(window_, message, [&](const WireField& field) -> Status {
      return field.number == shape::kDim ? append_dimensions(window_, field, kMostDimensions, to) : Status();
    });
  }

  const RandomFile& file_;
  WindowedFile window_;
  std::vector<DumpDataTensor> buffers_, spaces_;
};

// A file without the leading length begins with the message's version: the field's key, a length, "1.0".
bool begins_with_version(std::string_view head) {
  return head.size() > 4 && head[0] == '\x0a' && head[1] >= 3 && head[1] <= 8 && head[2] >= '0' && head[2] <= '9' &&
         head[3] == '.' && head[4] != '\0';
}

std::uint64_t message_bytes(std::string_view head) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{static_cast<unsigned char>(head[i])} << 8 * i;
  return length;
}

void append_number(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void append_field(std::string& out, std::uint32_t number, std::uint64_t value) {
  if (value == 0) return;  // the default is not written
  append_number(out, std::uint64_t{number} << 3);
  append_number(out, value);
}

void append_field(std::string& out, std::uint32_t number, std::string_view bytes) {
  append_number(out, std::uint64_t{number} << 3 | 2);
  append_number(out, bytes.size());
  out += bytes;
}

std::string message_of(const DumpDataTensor& tensor, const TensorFields& fields) {
  std::string dimensions, shape, message;
  for (const std::uint64_t dimension : tensor.shape) append_number(dimensions, dimension);
  if (!dimensions.empty()) append_field(shape, shape::kDim, dimensions);
  append_field(message, fields.data_type, static_cast<std::uint64_t>(tensor.data_type));
  append_field(message, fields.format, static_cast<std::uint64_t>(tensor.format));
  append_field(message, fields.shape, shape);
  if (fields.original_op != 0 && tensor.original_format >= 0) {
    std::string op;
    append_field(op, original_op::kFormat, static_cast<std::uint64_t>(tensor.original_format));
    append_field(message, fields.original_op, op);
  }
  append_field(message, fields.size, tensor.size_bytes);
  if (!tensor.original_shape.empty()) {
    std::string original;
    for (const std::uint64_t dimension : tensor.original_shape) append_number(original, dimension);
    shape.clear();
    append_field(shape, shape::kDim, original);
    append_field(message, fields.original_shape, shape);
  }
  append_field(message, fields.sub_format, static_cast<std::uint64_t>(tensor.groups));
  return message;
}

}  // namespace

const DumpDtype* dump_dtype(std::int32_t number) {
  const auto entry = std::ranges::find(kDumpDtypes, number, &DumpDtype::number);
  return entry == std::end(kDumpDtypes) ? nullptr : entry;
}

const DumpDtype* dump_dtype(std::string_view name) {
  const auto entry = std::ranges::find(kDumpDtypes, name, &DumpDtype::name);
  return entry == std::end(kDumpDtypes) ? nullptr : entry;
}

std::string_view dump_format(std::int32_t number) {
  return number >= 0 && number < static_cast<std::int32_t>(std::size(kAscendFormats)) ? kAscendFormats[number] : "";
}

std::int32_t dump_format(std::string_view name) {
  if (name == "DefaultFormat") return kNd;
  const auto format = std::ranges::find(kAscendFormats, name);
  return format == std::end(kAscendFormats) ? kReserved
                                            : static_cast<std::int32_t>(format - std::begin(kAscendFormats));
}

bool begins_as_dump_data(std::string_view head) {
  if (begins_with_version(head)) return true;
  if (head.size() <= kLengthBytes) return false;
  // Accepts a length below 4 GiB, followed by the key of a field of DumpData.
  const std::uint64_t length = message_bytes(head);
  const unsigned key = static_cast<unsigned char>(head[kLengthBytes]), number = key >> 3;
  const unsigned wire_type = number == dump_data::kTime ? 0 : 2;
  return length != 0 && length >> 32 == 0 && number >= dump_data::kVersion && number <= dump_data::kLast &&
         (key & 7) == wire_type;
}

Result<DumpData> read_dump_data(const RandomFile& file) {
  const auto fault = [&](const std::string& what) {
    return Error{Code::kUnreadable, printable(file.path()) + ": " + what};
  };
  if (file.size_bytes() < kLengthBytes) return fault("is too short for an Ascend dump file");
  std::array<char, kLengthBytes> head;
  if (Status read = file.read_at(0, std::as_writable_bytes(std::span(head))); !read) return read.error();
  Parser parser(file);
  const std::string_view beginning(head.data(), head.size());
  if (begins_with_version(beginning)) {
    if (Status parsed = parser.parse({0, file.size_bytes()}); !parsed) return parsed.error();
    parser.place_inside();
    return std::move(parser.dumped);
  }
  const std::uint64_t length = message_bytes(beginning), rest = file.size_bytes() - kLengthBytes;
  if (length > rest) {
    return fault("its message would have " + std::to_string(length) + " bytes; " + std::to_string(rest) + " are there");
  }
  if (Status parsed = parser.parse({kLengthBytes, length}); !parsed) return parsed.error();
  if (Status placed = parser.place_from(kLengthBytes + length); !placed) return placed.error();
  return std::move(parser.dumped);
}

std::string dump_data_header(const DumpData& dumped, std::string_view op_name, std::uint64_t time_us) {
  std::string message;
  append_field(message, dump_data::kVersion, "2.0");
  append_field(message, dump_data::kTime, time_us);
  for (const auto& tensor : dumped.outputs) {
    append_field(message, dump_data::kOutput, message_of(tensor, kOutputFields));
  }
  for (const auto& tensor : dumped.inputs) append_field(message, dump_data::kInput, message_of(tensor, kInputFields));
  append_field(message, dump_data::kOpName, op_name);
  std::string header;
  for (std::size_t i = 0; i < kLengthBytes; ++i) header += static_cast<char>(message.size() >> 8 * i & 0xff);
  return header + message;
}

}  // namespace tensorstat
