#include "kernels-cl/launch/piece.hpp"

#include <algorithm>

#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/quantile_codes.hpp"

namespace tensorstat::cl_engine {
namespace {

// The limits of a slice of Shape::kSlice. It should take long compared with the start of a work-item, and be short
// compared with the tensor.
constexpr std::uint64_t kLeastSliceBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostSliceBytes = std::uint64_t{256} << 20;  // < 2^30 elements, as the folds require

// If a tensor has fewer elements than a quarter of its bins, the host counts its codes. That takes no longer than to
// look at the bins, and the codes are an eighth of the bytes.
constexpr std::uint64_t kCodesToABin = 4;

std::uint64_t most_elements(const Device& device, const KernelKind& kind, std::uint64_t total_bytes) {
  if (device.shape == Shape::kGroup) {
    return kind.beside ? most_pairs_a_group(device, kind.element_bytes(), total_bytes)
                       : most_elements_a_group(device, kind.dtype, total_bytes);
  }
  const std::uint64_t bytes =
      std::clamp(total_bytes / (device.compute_units * 4) + 1, kLeastSliceBytes, kMostSliceBytes);
  return kind.beside ? bytes / kind.element_bytes() : elements_of(kind.dtype, bytes);
}

}  // namespace

Source source_of(const Tensor& tensor, std::uint64_t first) {
  const std::uint64_t bytes = bytes_of(tensor.dtype, first);
  if (tensor.where == Where::kClBuffer) {
    return {static_cast<cl_mem>(const_cast<void*>(tensor.address)), tensor.offset_bytes + bytes};
  }
  return {nullptr, reinterpret_cast<std::uintptr_t>(tensor.data()) + bytes};
}

Piece Task::piece(std::size_t job, std::uint64_t first, std::uint64_t count) const {
  return {.kind = kind,
          .job = job,
          .count = count,
          .first_element = first_element + first,
          .cast_scale = cast_scale,
          .tolerance = tolerance};
}

Task task_of(const Job& job) {
  const Partial& partial = *job.partial;
  return {.kind = {partial.dtype(), kernel_needs(partial)},
          .operands = {job.tensor},
          .first_element = partial.count(),
          .cast_scale = partial.cast_scale()};
}

Task task_of(const PairJob& job) {
  return {.kind = {job.tensors.a.dtype, kNothing, job.tensors.b.dtype},
          .operands = {job.tensors.a, job.tensors.b},
          .first_element = job.first_index,
          .tolerance = job.partial->tolerance()};
}

void cut(const Device& device, Piece whole, std::uint64_t total_bytes, std::vector<Piece>& pieces) {
  const Dtype dtype = whole.kind.dtype;
  const Needs needs = whole.kind.needs;
  std::uint64_t most = most_elements(device, whole.kind, total_bytes);
  if ((needs & kLowKernel) != 0) most = std::max(kTileElements, most / kTileElements * kTileElements);
  const bool in_groups = device.shape == Shape::kGroup;
  const bool is_of_few = whole.count * kCodesToABin <= code_count(dtype);
  const bool may_write = (needs & kQuantiles) != 0 && !unpacks(dtype);  // packed elements are always counted
  while (whole.count != 0) {
    Piece piece = whole;
    piece.count = std::min(most, whole.count);
    // A work-item has bins of its own. It writes codes instead if they are fewer bytes.
    const bool is_smaller = piece.count * code_bytes(dtype) <= code_count(dtype) * sizeof(std::uint32_t);
    piece.writes_codes = may_write && (in_groups ? is_of_few : is_smaller);
    pieces.push_back(piece);
    for (std::size_t i = 0; i < whole.kind.tensors(); ++i) {
      whole.sources[i].first_byte += bytes_of(whole.kind.dtype_of(i), piece.count);
    }
    whole.first_element += piece.count;
    whole.count -= piece.count;
  }
}

}  // namespace tensorstat::cl_engine
