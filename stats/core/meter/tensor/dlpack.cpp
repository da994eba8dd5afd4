#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/dlpack.hpp>

#include "stats/core/meter/tensor/dlpack_structs.hpp"

namespace tensorstat {
namespace {

// As in dlpack.h: DLDeviceType.
enum : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kOpenCl = 4, kRocm = 10, kRocmHost = 11, kCudaManaged = 13 };

std::optional<Where> where_of(std::int32_t device_type) {
  switch (device_type) {
    case kCpu:
    case kCudaHost:
    case kRocmHost:
      return Where::kHost;
    case kOpenCl:
      return Where::kClBuffer;
    case kCuda:
    case kCudaManaged:  // the CPU must not touch it while a kernel runs, where the hardware is old
      return Where::kCuda;
    case kRocm:
      return Where::kRocm;
    default:
      return std::nullopt;
  }
}

constexpr std::uint8_t kFloat4 = 17;

constexpr std::int32_t kMostDimensions = 64;  // the limit of NumPy; PyTorch's practical limit is half of it

struct TypeCode {
  std::uint8_t code;
  std::string_view name;  // prefix of the dtype's name, before the number of bits
  bool with_bits;
};
constexpr std::array kCodes = {
    TypeCode{0, "int", true},
    TypeCode{1, "uint", true},
    TypeCode{2, "float", true},
    TypeCode{4, "bfloat", true},
    TypeCode{5, "complex", true},
    TypeCode{6, "bool", false},
    TypeCode{7, "float8_e3m4", false},
    TypeCode{8, "float8_e4m3", false},
    TypeCode{9, "float8_e4m3b11fnuz", false},
    TypeCode{10, "float8_e4m3fn", false},
    TypeCode{11, "float8_e4m3fnuz", false},
    TypeCode{12, "float8_e5m2", false},
    TypeCode{13, "float8_e5m2fnuz", false},
    TypeCode{14, "float8_e8m0fnu", false},
    TypeCode{15, "float6_e2m3fn", false},
    TypeCode{16, "float6_e3m2fn", false},
    TypeCode{17, "float4_e2m1fn", false},
};

Error refused(const std::string& why) { return {tensorstat::Code::kUnsupported, "a DLPack tensor " + why}; }

Result<Dtype> dtype_of(DlDataType type) {
  // PyTorch describes two float4 values as one element of two lanes.
  const bool is_pair = type.code == kFloat4 && type.bits == 4 && type.lanes == 2;
  if (type.lanes != 1 && !is_pair) {
    return refused("of " + std::to_string(type.lanes) + " lanes an element cannot be measured; only 1 can");
  }
  std::string name = "type code " + std::to_string(type.code);
  for (const TypeCode& each : kCodes) {
    if (each.code == type.code) name = std::string(each.name) + (each.with_bits ? std::to_string(type.bits) : "");
  }
  const auto dtype = dtype_from(name);
  if (!dtype || size_bytes(*dtype) * 8 != type.bits * elements_a_byte(*dtype) || *dtype == Dtype::kUint1) {
    return refused("of " + name + " with " + std::to_string(type.bits) + " bits cannot be measured; cast it first");
  }
  return *dtype;
}

// Whether the tensor is contiguous. Strides of dimensions of length 1 do not matter.
bool contiguous(const DlTensor& from) {
  std::int64_t expected = 1;
  for (std::int32_t i = from.dimension_count; i-- > 0;) {
    if (from.shape[i] != 1 && from.strides[i] != expected) return false;
    expected *= from.shape[i];
  }
  return true;
}

}  // namespace

Result<Tensor> tensor_from_dlpack(const void* dl_tensor, Strides& strides) {
  if (dl_tensor == nullptr) return Error{tensorstat::Code::kInvalid, "the DLPack tensor is null"};
  const DlTensor& from = *static_cast<const DlTensor*>(dl_tensor);
  const auto where = where_of(from.device.type);
  if (!where) {
    return refused("on device type " + std::to_string(from.device.type) + " cannot be read; move it to the CPU first");
  }
  const auto dtype = dtype_of(from.dtype);
  if (!dtype) return dtype.error();
  if (from.dimension_count < 0 || from.dimension_count > kMostDimensions) {
    return refused("has " + std::to_string(from.dimension_count) + " dimensions; 0 to 64 are possible");
  }
  if (from.dimension_count > 0 && from.shape == nullptr) return refused("has dimensions and no shape");
  Shape shape;
  for (std::int32_t i = 0; i < from.dimension_count; ++i) {
    if (from.shape[i] < 0) return refused("has a dimension of " + std::to_string(from.shape[i]));
    shape.push_back(static_cast<std::uint64_t>(from.shape[i]));
  }
  if (from.dtype.lanes == 2) shape.push_back(2);
  const auto count = element_count(shape, size_bytes(*dtype));
  if (!count) return refused("of " + std::to_string(shape.size()) + " dimensions has more bytes than 2^63 - 1");
  if (*count != 0 && from.data == nullptr) return refused("has elements and no data");

  Tensor tensor{.dtype = *dtype, .element_count = *count, .address = from.data, .where = *where};
  if (*where == Where::kClBuffer) {
    tensor.offset_bytes = from.byte_offset;
  } else if (from.data != nullptr) {
    if (from.byte_offset > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(from.data)) {
      return refused("begins " + std::to_string(from.byte_offset) + " bytes behind its address, beyond all memory");
    }
    tensor.address = static_cast<const std::byte*>(from.data) + from.byte_offset;
  }
  if (*count == 0 || from.strides == nullptr || contiguous(from)) return tensor;
  if (!is_readable_by_cpu(*where)) return refused("in device memory is strided; make it contiguous first");
  if (is_packed(*dtype)) return refused("of " + std::string(name(*dtype)) + " is strided; make it contiguous first");
  strides.shape = std::move(shape);
  strides.bytes.clear();
  for (std::int32_t i = 0; i < from.dimension_count; ++i) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(from.strides[i], std::int64_t{size_bytes(*dtype)}, &bytes)) {
      return refused("has a stride of " + std::to_string(from.strides[i]) + " elements");
    }
    strides.bytes.push_back(bytes);
  }
  tensor.strides = &strides;
  return tensor;
}

}  // namespace tensorstat
