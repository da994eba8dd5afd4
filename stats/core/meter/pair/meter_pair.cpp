#include <string>
#include <tensorstat/meter.hpp>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/request_check.hpp"
#include "stats/core/meter/meter_state.hpp"
#include "stats/core/meter/pair/pair_batch.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostIndex = std::uint64_t{1} << 63;

Status check_pair(const TensorPair& pair, const PairRequest& request) {
  const struct {
    const Tensor& tensor;
    const char* name;
  } both[] = {{pair.a, "a: "}, {pair.b, "b: "}};
  for (const auto& [tensor, name] : both) {
    Status status = check(tensor);
    if (status) status = check_comparable(tensor);
    if (!status) return Error{status.error().code, name + status.error().message};
  }
  if (pair.a.element_count != pair.b.element_count) {
    return Error{Code::kInvalid, "a has " + std::to_string(pair.a.element_count) + " elements and b has " +
                                     std::to_string(pair.b.element_count)};
  }
  if (request.first_index >= kMostIndex || pair.a.element_count >= kMostIndex - request.first_index) {
    return Error{Code::kInvalid, "its last index is 2^63 or more"};
  }
  return {};
}

}  // namespace

Status check(std::span<const TensorPair> pairs, const PairRequest& request) {
  if (!request.tolerance.is_valid()) return Error{Code::kInvalid, "rtol and atol are finite numbers from 0"};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (Status status = check_pair(pairs[i], request); !status) {
      return Error{status.error().code, "pair " + std::to_string(i) + ": " + status.error().message};
    }
  }
  return {};
}

Result<std::vector<PairPartial>> Meter::compare(std::span<const TensorPair> pairs, const PairRequest& request,
                                                std::vector<PairPlacement>* placements) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  if (Status status = check(pairs, request); !status) return status.error();
  std::vector<PairPartial> partials;
  partials.reserve(pairs.size());
  for (const TensorPair& pair : pairs) partials.emplace_back(pair.a.dtype, pair.b.dtype, request.tolerance);
  PairBatch batch(*state_, pairs, request, partials);
  if (Status status = batch.run(); !status) return status.error();
  if (placements != nullptr) *placements = batch.placements();
  return partials;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
