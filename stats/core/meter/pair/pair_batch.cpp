#include "stats/core/meter/pair/pair_batch.hpp"

#include <algorithm>

#include "stats/core/meter/tensor/host_window.hpp"

namespace tensorstat {
namespace {

// The host reads device memory in windows of this many elements. None has more than eight bytes.
constexpr std::uint64_t kReadBackElements = HostWindow::kBytes / 8;

// The limit of pairs in one launch: each takes about a thousand bytes of the device and its engine, and a batch may
// have a million pairs.
constexpr std::size_t kMostPairsOnDevice = 16384;

}  // namespace

PairBatch::PairBatch(Meter::State& meter, std::span<const TensorPair> pairs, const PairRequest& request,
                     std::span<PairPartial> partials)
    : meter_(meter),
      pairs_(pairs),
      request_(request),
      partials_(partials),
      placed_as_{.on = request.on},
      placed_(meter, placed_as_) {}

Status PairBatch::run() {
  if (Status status = placed_.place(pairs_); !status) return status;
  Status status = placed_.fold_on_device(
      [this](PlacedBatch::Items rest) { return std::min(placed_.alike(rest), kMostPairsOnDevice); },
      [this](PlacedBatch::Items some) {
        const bool on_gpu = placed_.placement(some[0]).on_gpu;
        return on_gpu ? meter_.gpu_folder->compare(jobs(some)) : meter_.device->compare(jobs(some));
      });
  return status ? compare_on_host() : status;
}

std::vector<PairPlacement> PairBatch::placements() const {
  std::vector<PairPlacement> all;
  all.reserve(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Placed placed = meter_.placed(placed_.placement(i));
    all.push_back({placed.engine, std::string(placed.reason.text()), placed.device_bytes});
  }
  return all;
}

std::vector<PairJob> PairBatch::jobs(std::span<const std::size_t> whose) const {
  std::vector<PairJob> all;
  all.reserve(whose.size());
  for (const std::size_t i : whose) all.push_back({pairs_[i], request_.first_index, &partials_[i]});
  return all;
}

Status PairBatch::compare_on_host() {
  std::vector<std::size_t> whose;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (placed_.on_device(i)) continue;
    if (!is_in_device_memory(pairs_[i])) {
      whose.push_back(i);
    } else if (Status status = read_back(i); !status) {
      return status;
    }
  }
  meter_.host->compare(jobs(whose));
  return {};
}

// Compares a pair with a tensor in device memory on the host, window by window.
Status PairBatch::read_back(std::size_t index) {
  const TensorPair& pair = pairs_[index];
  HostWindow window_a(meter_), window_b(meter_);
  for (std::uint64_t first = 0; first < pair.a.element_count; first += kReadBackElements) {
    const std::uint64_t count = std::min(kReadBackElements, pair.a.element_count - first);
    const auto a = window_a.part(pair.a, first, count), b = window_b.part(pair.b, first, count);
    if (!a) return a.error();
    if (!b) return b.error();
    const PairJob job{{*a, *b}, request_.first_index + first, &partials_[index]};
    meter_.host->compare({&job, 1});
  }
  return {};
}

}  // namespace tensorstat
