#include <algorithm>
#include <tensorstat/meter.hpp>
#include <utility>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/engine/request_check.hpp"
#include "stats/core/meter/meter_state.hpp"
#include "stats/core/meter/request_batch.hpp"

namespace tensorstat {

Meter::Meter(MeterOptions options) noexcept {
  try {
    state_ = std::make_shared<State>(std::move(options));
  } catch (...) {  // state_ stays null, and every call returns kOutOfMemory
  }
}
Meter::~Meter() = default;

MemoryUse Meter::device_memory() const { return state_ ? state_->ledger.use() : MemoryUse{}; }

Status Meter::read(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  if (Status status = check(tensor); !status) return status;
  const std::uint32_t element_bytes = size_bytes(tensor.dtype);
  if (first_byte > tensor.bytes() || bytes.size() > tensor.bytes() - first_byte || first_byte % element_bytes != 0 ||
      bytes.size() % element_bytes != 0) {
    return Error{Code::kInvalid, "bytes [" + std::to_string(first_byte) + ", " + std::to_string(first_byte) + " + " +
                                     std::to_string(bytes.size()) + ") are no whole elements of a " +
                                     std::string(name(tensor.dtype)) + " tensor of " + std::to_string(tensor.bytes()) +
                                     " bytes"};
  }
  if (bytes.empty()) return {};
  if (tensor.strides != nullptr) {
    state_->host->gather(tensor, first_byte / element_bytes, bytes);
    return {};
  }
  if (is_readable_by_cpu(tensor.where)) {
    std::copy_n(tensor.data() + first_byte, bytes.size(), bytes.begin());
    return {};
  }
  return state_->read_device(tensor, first_byte, bytes);
} catch (...) {
  return caught();
}

Result<Measurements> Meter::measure(std::span<const Tensor> tensors, const Request& request) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  if (Status status = check(tensors, request); !status) return std::move(status).error();
  const Wanted all = wanted_by(request);
  auto results = Measurements::State::make(request.categories, all.needs, tensors.size());
  // std::function holds two captured pointers without an allocation, but not three.
  const auto put = [into = results.get(), first = tensors.data()](std::size_t i, const TensorResult& outcome,
                                                                  const Wanted& wanted) {
    into->put(i, first[i].dtype, outcome, wanted);
  };
  RequestBatch batch(*state_, tensors, request, all, put);
  if (Status status = batch.run(); !status) return std::move(status).error();
  PlacedBatch& placed = batch.placed();
  if (placed.placement_of().empty()) {
    results->set_placement(state_->placed(placed.placements().front()));
  } else {
    std::vector<Placed> words;
    for (const Placement& placement : placed.placements()) words.push_back(state_->placed(placement));
    results->set_placement(std::move(words), std::move(placed.placement_of()));
  }
  return Measurements(std::move(results));
} catch (...) {
  return caught();
}

Result<std::vector<Partial>> Meter::fold(std::span<const Tensor> tensors, const Request& request) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  if (Status status = check(tensors, request); !status) return std::move(status).error();
  if (Status status = check_mergeable(request); !status) return std::move(status).error();
  const Wanted all = wanted_by(request);
  std::vector<Partial> partials;
  partials.reserve(tensors.size());
  for (const Tensor& tensor : tensors)
    partials.emplace_back(tensor.dtype, request.precision, all.needs, request.cast_scale);
  RequestBatch batch(*state_, tensors, request, all, [&](std::size_t i, const TensorResult& outcome, const Wanted&) {
    merge(partials[i].bins(), outcome.bins);
    merge(partials[i].dtype(), partials[i].words(), outcome.words);
  });
  if (Status status = batch.run(); !status) return std::move(status).error();
  return partials;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
