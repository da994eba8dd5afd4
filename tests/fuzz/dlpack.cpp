// A DLTensor with arbitrary fields. Its pointers are valid or null. The input has the layout of DLPack's header:
// device, number of dimensions, dtype, offset. Then a byte that says which pointers are set (1 shape, 2 strides, 4
// data), then shape and strides.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <tensorstat/dlpack.hpp>
#include <tensorstat/meter.hpp>

#include "tests/fuzz/targets.hpp"
#include "tests/support/dl_tensor.hpp"

namespace tensorstat::fuzz {
namespace {

__extension__ using Wide = __int128;

constexpr std::size_t kMostDimensions = 64;
// The CPU, CUDA and its pinned memory, OpenCL, ROCm and its pinned memory, CUDA's managed memory.
constexpr std::array kDevices = {1, 2, 3, 4, 10, 11, 13};

template <typename Field>
void take(Input& bytes, Field& field) {
  const std::size_t size = std::min(bytes.size(), sizeof field);
  std::memcpy(&field, bytes.data(), size);
  bytes.remove_prefix(size);
}

// The first and the last byte of the elements, relative to the address. Wide enough for all values of the fields.
struct Reach {
  Wide first = 0, last = 0;
};
Reach reach_of(const Tensor& tensor, const Strides* strides) {
  Reach reach{0, static_cast<Wide>(size_bytes(tensor.dtype)) - 1};
  if (strides == nullptr) reach.last = static_cast<Wide>(tensor.bytes()) - 1;
  for (std::size_t i = 0; strides != nullptr && i < strides->shape.size(); ++i) {
    const Wide span = static_cast<Wide>(strides->shape[i] - 1) * strides->bytes[i];
    (span < 0 ? reach.first : reach.last) += span;
  }
  return reach;
}

}  // namespace

void dlpack(Input bytes) {
  alignas(64) static std::array<std::byte, 4096> arena{};
  std::array<std::int64_t, kMostDimensions> shape{}, stride{};
  test::DlTensor from{};
  std::uint8_t pointers = 0;
  take(bytes, from.device.type);
  take(bytes, from.device.id);
  take(bytes, from.dimension_count);
  take(bytes, from.dtype.code);
  take(bytes, from.dtype.bits);
  take(bytes, from.dtype.lanes);
  take(bytes, from.byte_offset);
  take(bytes, pointers);
  const auto dimensions = static_cast<std::size_t>(std::clamp<std::int32_t>(from.dimension_count, 0, kMostDimensions));
  for (std::size_t i = 0; i < dimensions; ++i) take(bytes, shape[i]);
  for (std::size_t i = 0; i < dimensions; ++i) take(bytes, stride[i]);
  if (pointers & 1) from.shape = shape.data();
  if (pointers & 2) from.strides = stride.data();
  if (pointers & 4) from.data = arena.data();

  Strides strides;
  const auto tensor = tensor_from_dlpack(&from, strides);
  if (!tensor) return demand_message(tensor.error().message, 300);
  const bool is_pair = tensor->dtype == Dtype::kFloat4E2m1fn && from.dtype.lanes == 2;
  demand((from.dtype.lanes == 1 || is_pair) && std::ranges::count(kDevices, from.device.type) == 1,
         "lanes and other devices are refused");
  demand(from.dtype.bits * elements_a_byte(tensor->dtype) == 8 * size_bytes(tensor->dtype),
         "an element has the bits that its dtype has");
  const std::span lengths(shape.data(), dimensions);
  demand(std::ranges::none_of(lengths, [](std::int64_t each) { return each < 0; }), "a dimension is not negative");
  Wide count = std::ranges::count(lengths, 0) == 0 ? from.dtype.lanes : 0;
  for (std::size_t i = 0; i < dimensions && count != 0; ++i) count *= shape[i];
  demand(count == static_cast<Wide>(tensor->element_count), "there are as many elements as the shape says");
  if (tensor->where != Where::kHost || tensor->element_count == 0) return;
  if (tensor->strides != nullptr) {
    demand(tensor->strides == &strides && strides.bytes.size() == dimensions, "strides are put where the caller said");
    for (std::size_t i = 0; i < dimensions; ++i) {
      demand(strides.bytes[i] == static_cast<Wide>(stride[i]) * size_bytes(tensor->dtype), "strides are in bytes");
    }
  }
  // A tensor within the arena can be measured.
  const Reach reach = reach_of(*tensor, tensor->strides);
  const auto offset = static_cast<Wide>(from.byte_offset);
  const bool is_inside = offset + reach.first >= 0 && offset + reach.last < static_cast<Wide>(arena.size());
  if (!is_inside || tensor->element_count > 1 << 20) return;
  static Meter meter({.threads = 1});
  const auto measured = meter.measure({&*tensor, 1}, {.categories = {Category::kCount}, .on = On::kHost});
  demand(static_cast<bool>(measured), "a sound tensor is measured");
  demand(measured->front().statistics.values[0] == Value(tensor->element_count), "every element is counted");
}

}  // namespace tensorstat::fuzz
