#include "kernels-cl/launch/self_check.hpp"

#include <algorithm>
#include <cstring>

#include "kernels-cl/launch/definition.hpp"
#include "kernels-cl/launch/program.hpp"
#include "stats/core/accumulator_layout.hpp"

namespace tensorstat::cl_engine {
namespace {

// A group of lanes full, a vector's tail, and a first element that no vector load may touch.
constexpr std::size_t kElements = 2 * kTileElements + 37;

std::uint64_t mix(std::uint64_t x) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Elements near 1 for half of the way, where they are floats; zeros of both signs; small integers, or
// subnormals and what follows them; at last every bit pattern that comes, NaN and Inf among them.
std::vector<std::byte> awkward(Dtype dtype) {
  const std::size_t element_bytes = size_bytes(dtype);
  const auto bits_of_format = [&](int mantissa_bits, std::uint64_t infinity, std::uint64_t raw) {
    const std::uint64_t exponent = (infinity >> mantissa_bits) / 2 - raw % 8;
    const std::uint64_t sign = (raw >> 3 & 1) << (8 * element_bytes - 1);
    return sign | exponent << mantissa_bits | (raw >> 11 & ((std::uint64_t{1} << mantissa_bits) - 1));
  };
  std::vector<std::byte> bytes((kElements + 1) * element_bytes);
  for (std::size_t i = 0; i <= kElements; ++i) {
    std::uint64_t bits = mix(i + 1);
    if (i < kElements / 2) {
      switch (dtype) {
        case Dtype::kFloat16: bits = bits_of_format(10, 0x7c00, bits); break;
        case Dtype::kBfloat16: bits = bits_of_format(7, 0x7f80, bits); break;
        case Dtype::kFloat32: bits = bits_of_format(23, 0x7f800000, bits); break;
        case Dtype::kFloat64: bits = bits_of_format(52, 0x7ff0000000000000, bits); break;
        default: break;
      }
    } else if (i < kElements / 2 + 8) {
      bits = (i % 2 == 0 ? 0 : ~std::uint64_t{0}) << (8 * element_bytes - 1);  // +0, -0, and the least integer
    } else if (i < kElements * 3 / 4) {
      bits >>= 64 - 8 * element_bytes + i % (8 * element_bytes);  // small integers, and subnormals
    }
    std::memcpy(bytes.data() + i * element_bytes, &bits, element_bytes);  // little-endian
  }
  return bytes;
}

// Whether a kernel of these needs has to get the word right.
bool matters(Dtype dtype, std::size_t word, Needs needs) {
  const Needs need = need_of(dtype, word);
  return need == kNothing || (needs & need) != 0;
}

}  // namespace

Status self_check(const Device& device, BufferCache& buffers, const cl::Context& context, const cl::CommandQueue& queue,
                  const std::shared_ptr<Kernel>& kernel, Dtype dtype, Needs needs) {
  auto bytes = std::make_unique<std::vector<std::byte>>(awkward(dtype));
  const std::string doing = "probing the kernel of " + std::string(name(dtype)) + " on " + device.info.name;
  // Where the device reads host memory in place, the self-check takes none of its own.
  BufferCache::Buffer window;
  cl::Buffer source;
  if (device.shares_host_memory) {
    cl_int code = CL_SUCCESS;
    source = cl::Buffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes->size(), bytes->data(), &code);
    if (code != CL_SUCCESS) return error(doing, "clCreateBuffer", code);
  } else {
    auto taken = buffers.take(bytes->size(), "the probe of a kernel");
    if (!taken) return taken.error();
    window = *std::move(taken);
    source = window.memory;
  }
  Partial found(dtype, Precision::kHigh, needs), expected = found;
  const auto elements = std::span(*bytes).subspan(size_bytes(dtype), bytes_of(dtype, kElements));
  const auto lift = (needs & kLowKernel) != 0 ? lift_tiles : lift_all;
  lift(dtype, needs, elements, kElements, expected.words());
  carry(dtype, expected.words());

  const Status folded = [&]() -> Status {
    if (window.bytes != 0) {
      const cl_int code = queue.enqueueWriteBuffer(source, CL_TRUE, 0, bytes->size(), bytes->data());
      if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
    }
    std::vector<Piece> pieces;
    cut(device, {source(), dtype, needs, 0, size_bytes(dtype), kElements}, bytes->size(), pieces);
    auto batch = Batch::enqueue(device, buffers, queue, std::move(pieces),
                                [&](Dtype, Needs) -> Result<std::shared_ptr<Kernel>> { return kernel; }, {});
    if (!batch) return batch.error();
    return batch->collect({&found, 1});
  }();
  if (!folded && folded.error().code == Code::kInUse) {
    keep_for_ever(bytes.release());
    return Error{Code::kDevice, doing + ": the driver does not tell whether it has ended"};  // no tensor was touched
  }
  if (window.bytes != 0) buffers.give_back(std::move(window));
  if (!folded) return folded;
  for (std::size_t i = 0; i < expected.words().size(); ++i) {
    if (matters(dtype, i, needs) && found.words()[i] != expected.words()[i]) {
      return Error{Code::kDevice, doing + ": word " + std::to_string(i) + " of a known answer came out wrong, " +
                                      std::to_string(found.words()[i]) + " for " + std::to_string(expected.words()[i]) +
                                      "; the device or its compiler cannot be trusted"};
    }
  }
  return {};
}

}  // namespace tensorstat::cl_engine
