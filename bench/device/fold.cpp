#include "bench/device/fold.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "kernels-cl/program/program.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::bench {
namespace {

constexpr std::size_t kSliceWords = 5;  // words in a Slice of kernels-cl/cl/slice.cl
constexpr std::uint64_t kVectorBytes = 16;

}  // namespace

Fold::Fold(Gpu& gpu, const KernelSpec& spec, Gpu::Buffer source, const std::vector<Extent>& tensors,
           std::uint32_t slices_a_unit)
    : gpu_(gpu), spec_(spec), source_(source), tensors_(tensors.size()) {
  cl_engine::Device shaped = gpu.traits();
  shaped.shape = cl_engine::Shape::kGroup;
  shaped.group_size = spec.group_size;
  shaped.group.loads = spec.loads;
  if (slices_a_unit != 0) shaped.group.slices_a_unit = slices_a_unit;
  std::uint64_t total_bytes = 0;
  for (const Extent& each : tensors) total_bytes += tensorstat::bytes_of(spec.dtype, each.count);
  const std::uint64_t most = cl_engine::most_elements_a_group(shaped, spec.dtype, total_bytes);
  const bool shares = (spec.needs & (kFingerprints | kIndices)) == 0;  // the slices of a tensor add to one partial
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::uint64_t first = 0; first == 0 || first < tensors[i].count; first += most) {
      if (first == 0 || !shares) targets_.push_back({i, first});
      if (first == tensors[i].count) break;  // an empty tensor has a partial but no slice
      image_.push_back(static_cast<std::int64_t>(tensors[i].first_byte + tensorstat::bytes_of(spec.dtype, first)));
      image_.push_back(static_cast<std::int64_t>(std::min(most, tensors[i].count - first)));
      image_.push_back(static_cast<std::int64_t>(targets_.size() - 1));
      image_.resize(image_.size() + 2);  // no bins and no scaled casts
    }
  }
  slices_ = image_.size() / kSliceWords;
  const std::size_t words = partial_words(spec.dtype, spec.needs);
  image_.resize(image_.size() + targets_.size() * words);  // zeros
  workspace_ = gpu.make(image_.size() * sizeof image_[0]);
}

double Fold::run() {
  gpu_.write(workspace_, std::as_bytes(std::span(image_)));
  return gpu_.run(spec_, slices_, source_, workspace_, 0, slices_ * kSliceWords * sizeof image_[0]);
}

std::vector<Partial> Fold::results() {
  std::vector<std::int64_t> workspace(image_.size());
  gpu_.read(workspace_, std::as_writable_bytes(std::span(workspace)));
  const std::size_t words = partial_words(spec_.dtype, spec_.needs);
  std::vector<Partial> partials(tensors_, Partial(spec_.dtype, Precision::kHigh, spec_.needs));
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const auto words_of = std::span(workspace).subspan(slices_ * kSliceWords + i * words, words);
    merge(spec_.dtype, partials[targets_[i].tensor].words(), words_of, targets_[i].first, Maxima::kBiased);
  }
  return partials;
}

Read::Read(Gpu& gpu, const KernelSpec& spec, Gpu::Buffer source, std::uint64_t bytes, std::size_t groups_a_unit)
    : gpu_(gpu), spec_(spec), source_(source), vectors_(bytes / kVectorBytes) {
  const std::uint64_t step = spec.group_size * spec.loads;
  const std::uint64_t wanted = std::uint64_t{gpu.traits().compute_units} * groups_a_unit;
  run_ = std::max<std::uint64_t>(1, (vectors_ + wanted * step - 1) / (wanted * step)) * step;
  groups_ = (vectors_ + run_ - 1) / run_;
  results_ = gpu.make(groups_ * kVectorBytes);
}

double Read::run() { return gpu_.run(spec_, groups_, source_, results_, run_, vectors_); }

void Read::prove(std::span<const std::byte> bytes) {
  using Vector = std::array<std::uint64_t, 2>;
  std::vector<Vector> results(groups_);
  gpu_.read(results_, std::as_writable_bytes(std::span(results)));
  Vector seen{};
  for (const Vector& each : results) seen[0] ^= each[0], seen[1] ^= each[1];
  for (std::uint64_t i = 0; i < vectors_; ++i) {
    Vector vector;
    std::memcpy(&vector, bytes.data() + i * kVectorBytes, sizeof vector);
    seen[0] ^= vector[0], seen[1] ^= vector[1];
  }
  if (seen != Vector{}) throw std::runtime_error("the read-only kernel has not read what there is");
}

}  // namespace tensorstat::bench
