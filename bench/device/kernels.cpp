// The timed kernels: the library's folds, unchanged, and a stream that only reads.
#include "bench/device/gpu.hpp"
#include "kernels-cl/cuda/ptx.hpp"
#include "kernels-cl/program/program.hpp"

namespace tensorstat::bench {
namespace {

// As in gpu.cl, neighbouring lanes read neighbouring 16 bytes, and issue LOADS loads before they use the first. Each
// work-group reads a run of `first` vectors out of `second`, and writes one exclusive-or of 16 bytes, so that the
// compiler cannot remove a load.
constexpr const char* kRead = R"(
kernel __attribute__((reqd_work_group_size(LANES_A_GROUP, 1, 1)))
void read(global const uchar* source, global uchar* workspace, ulong first, ulong second) {
  local uint4 desk[LANES_A_GROUP];
  const uint lane = (uint)get_local_id(0);
  const ulong begin = get_group_id(0) * first;
  global const uint4* vectors = (global const uint4*)source + begin;
  const uint count = (uint)(begin + first < second ? first : begin < second ? second - begin : 0);
  uint4 seen = (uint4)(0, 0, 0, 0);
  uint i = lane;
  for (; i + (LOADS - 1) * LANES_A_GROUP < count; i += LOADS * LANES_A_GROUP) {
    uint4 ahead[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) ahead[k] = vectors[i + k * LANES_A_GROUP];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) seen ^= ahead[k];
  }
  for (; i < count; i += LANES_A_GROUP) seen ^= vectors[i];
  desk[lane] = seen;
  for (uint half_way = LANES_A_GROUP / 2; half_way > 0; half_way /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_way) desk[lane] ^= desk[lane + half_way];
  }
  if (lane == 0) ((global uint4*)workspace)[get_group_id(0)] = desk[0];
}
)";

// The library's device, with the launch of the spec.
cl_engine::Device shaped(const cl_engine::Device& device, const KernelSpec& spec) {
  cl_engine::Device copy = device;
  copy.shape = cl_engine::Shape::kGroup;
  copy.group_size = spec.group_size;
  copy.group.loads = spec.loads;
  return copy;
}

}  // namespace

cl_engine::Device nvidia_gpu() { return cl_engine::device_of({.name = "", .capability = 90, .folder = ""}); }

std::vector<KernelSpec> nvidia_kernels() {
  const cl_engine::GroupShape shape = nvidia_gpu().group;
  std::vector<KernelSpec> all;
  for (int d = 0; d < kDtypeCount; ++d) {
    for (const Needs needs : kCheckedNeeds) {
      all.push_back({.dtype = static_cast<Dtype>(d), .needs = needs, .group_size = shape.lanes, .loads = shape.loads});
    }
  }
  for (const Dtype dtype : kTunedDtypes) {
    for (const Beside& beside : kBeside) {
      if (beside.needs == kEverything) continue;
      all.push_back({.dtype = dtype, .needs = beside.needs, .group_size = shape.lanes, .loads = shape.loads});
    }
  }
  for (const std::size_t lanes : kGroupSizes) {
    for (const std::uint32_t loads : kLoads) {
      all.push_back({.kind = KernelSpec::Kind::kRead, .group_size = lanes, .loads = loads});
      if (lanes == shape.lanes && loads == shape.loads) continue;
      for (const Dtype dtype : kTunedDtypes) all.push_back({.dtype = dtype, .group_size = lanes, .loads = loads});
    }
  }
  return all;
}

std::string name(const KernelSpec& spec) {
  const std::string shape = std::to_string(spec.group_size) + "x" + std::to_string(spec.loads);
  if (spec.kind == KernelSpec::Kind::kRead) return "read-" + shape;
  return "fold-" + std::string(tensorstat::name(spec.dtype)) + "-" + std::to_string(spec.needs) + "-" + shape;
}

std::string options(const cl_engine::Device& device, const KernelSpec& spec) {
  if (spec.kind == KernelSpec::Kind::kFold) {
    return cl_engine::build_options(shaped(device, spec), spec.dtype, spec.needs);
  }
  return "-cl-std=CL1.2 -DLANES_A_GROUP=" + std::to_string(spec.group_size) + " -DLOADS=" + std::to_string(spec.loads);
}

std::string text(const cl_engine::Device& device, const KernelSpec& spec) {
  if (spec.kind == KernelSpec::Kind::kRead) return kRead;
  return cl_engine::source(shaped(device, spec), spec.dtype);
}

}  // namespace tensorstat::bench
