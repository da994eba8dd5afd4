// A device of bench/gpu, through OpenCL or, if that is missing, through CUDA's driver. It has memory of its own, and
// its own clock times the kernels. Everything here throws std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tensorstat/partial.hpp>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "stats/core/engine/needs.hpp"

namespace tensorstat::bench {

// The needs of the ten statistics, and all needs.
inline constexpr Needs kOfTheTen = kExtrema | kSigns | kSum | kSquares;
inline constexpr Needs kEverything = 2 * Needs{kExponents} - 1;

// A kernel and the constants that specialise it. All kernels take a source, a workspace and two numbers.
struct KernelSpec {
  enum class Kind : std::uint8_t { kFold, kRead } kind = Kind::kFold;
  Dtype dtype = Dtype::kFloat32;  // of a fold, as is the next
  Needs needs = kOfTheTen;
  std::size_t group_size = 256;
  std::uint32_t loads = 4;  // of 16 bytes, in flight in each lane

  auto operator<=>(const KernelSpec&) const = default;
};

// The name of a kernel's file, such as "fold-float32-15-256x4" or "read-256x4".
std::string name(const KernelSpec& spec);

// Every kernel that the stages of measure.hpp run on an NVIDIA GPU.
std::vector<KernelSpec> nvidia_kernels();

// The library's description of an NVIDIA GPU, for machines without its OpenCL driver.
cl_engine::Device nvidia_gpu();

// The compiler's input: OpenCL options, and one text.
std::string options(const cl_engine::Device& device, const KernelSpec& spec);
std::string text(const cl_engine::Device& device, const KernelSpec& spec);

class Gpu {
 public:
  using Buffer = std::uintptr_t;

  virtual ~Gpu() = default;
  virtual std::string description() const = 0;
  // The library's description of the device: its shape and its number of units.
  virtual const cl_engine::Device& traits() const = 0;
  virtual Buffer make(std::uint64_t bytes) = 0;  // lives as long as the Gpu
  virtual void write(Buffer to, std::span<const std::byte> bytes) = 0;
  virtual void read(Buffer from, std::span<std::byte> bytes) = 0;
  // Waits for the end. Returns seconds by the device's clock. The first run of a kernel builds it.
  virtual double run(const KernelSpec& spec, std::size_t groups, Buffer source, Buffer workspace, std::uint64_t first,
                     std::uint64_t second) = 0;
};

// The launches and dtypes that the stages try.
inline constexpr std::size_t kGroupSizes[] = {128, 256, 512};
inline constexpr std::uint32_t kLoads[] = {1, 2, 4, 8};
inline constexpr Needs kCheckedNeeds[] = {kOfTheTen, kEverything, kExtrema | kSigns, kSum | kSquares};
inline constexpr Dtype kTunedDtypes[] = {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kInt8};

// Needs that are measured in addition to the ten statistics, with one kernel each.
struct Beside {
  const char* name;
  Needs needs;
};
inline constexpr Beside kBeside[] = {
    {"l1norm", kOfTheTen | kAbsolute},
    {"finite, absmin, counts", kOfTheTen | kLeastSize | kSubnormals | kMinusZeros | kFinite},
    {"indices", kOfTheTen | kIndices},
    {"casts", kOfTheTen | kCasts},
    {"exponents", kOfTheTen | kExponents},
    {"crc32", kOfTheTen | kCrc32},
    {"everything", kEverything}};

std::unique_ptr<Gpu> open_opencl();
// `folder` has a PTX file for each kernel, written by `bench/gpu --pack`.
std::unique_ptr<Gpu> open_cuda(const std::string& folder);

}  // namespace tensorstat::bench
