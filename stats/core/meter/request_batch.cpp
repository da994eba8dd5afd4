#include "stats/core/meter/request_batch.hpp"

#include <algorithm>
#include <utility>

#include "stats/core/meter/tensor/host_window.hpp"

namespace tensorstat {
namespace {

// The limits of tensors in one launch: each takes some hundred bytes of the device and its engine, and a batch may have
// a million tensors. If the device is the host's processor, the limit is lower: a launch is cheap there, and its memory
// is reused from the cache.
constexpr std::size_t kMostOnDevice = 16384, kMostOnHostsDevice = 2048;
// The limit of tensor bytes in one launch with quantiles. The non-empty bins may take eight times as much.
constexpr std::uint64_t kMostWithQuantiles = std::uint64_t{32} << 20;

}  // namespace

RequestBatch::RequestBatch(Meter::State& meter, std::span<const Tensor> tensors, const Request& request,
                           const Wanted& wanted, Put put)
    : meter_(meter), tensors_(tensors), wanted_(wanted), put_(std::move(put)), placed_(meter, request) {}

Status RequestBatch::run() {
  // Digests are always computed on the host.
  if (wanted_.partial) {
    if (Status status = placed_.place(tensors_); !status) return status;
    if (placed_.is_plain()) return pass_over_all();
  }
  Status status = placed_.fold_on_device([this](PlacedBatch::Items rest) { return at_once(rest); },
                                         [this](PlacedBatch::Items some) { return fold_on_device(some); });
  return status ? pass_on_host() : status;
}

// How many of these tensors go into one launch. The results for quantiles may be larger than the tensors.
std::size_t RequestBatch::at_once(std::span<const std::size_t> whose) const {
  const bool shares_memory = !placed_.placement(whose[0]).on_gpu && meter_.device->shares_host_memory();
  const std::size_t most = std::min(placed_.alike(whose), shares_memory ? kMostOnHostsDevice : kMostOnDevice);
  if ((wanted_.needs & kQuantiles) == 0) return most;
  std::uint64_t bytes = tensors_[whose[0]].bytes();
  std::size_t count = 1;
  while (count < most && (bytes += tensors_[whose[count]].bytes()) <= kMostWithQuantiles) ++count;
  return count;
}

Result<std::uint64_t> RequestBatch::fold_on_device(std::span<const std::size_t> whose) {
  const Wanted statistics{wanted_.precision, static_cast<Needs>(wanted_.needs & ~kDigests), true, wanted_.cast_scale};
  std::vector<Partial> partials;
  std::vector<Job> jobs;
  partials.reserve(whose.size());
  jobs.reserve(whose.size());
  for (const std::size_t i : whose) {
    partials.emplace_back(tensors_[i].dtype, statistics.precision, statistics.needs, statistics.cast_scale);
    jobs.push_back({tensors_[i], &partials.back()});
  }
  auto held_bytes =
      placed_.placement(whose[0]).on_gpu ? meter_.gpu_folder->fold(jobs) : meter_.device->fold_counting(jobs);
  if (!held_bytes) return held_bytes;
  for (std::size_t k = 0; k < whose.size(); ++k) {
    put_(whose[k], {.words = partials[k].words(), .bins = {.kept = partials[k].bins()}}, statistics);
  }
  return held_bytes;
}

Status RequestBatch::pass_on_host() {
  if (!placed_.any_on_device() && std::ranges::none_of(tensors_, is_in_device_memory<Tensor>)) return pass_over_all();
  std::vector<std::size_t> both, digests_alone;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const bool on_device = placed_.on_device(i);
    if (on_device && digests().needs == 0) continue;
    if (is_in_device_memory(tensors_[i])) {
      if (Status status = read_back(i); !status) return status;
    } else {
      (on_device ? digests_alone : both).push_back(i);
    }
  }
  pass_over(both, wanted_);
  pass_over(digests_alone, digests());
  return {};
}

Status RequestBatch::pass_over_all() {
  const Take take = [this](std::size_t i, const TensorResult& outcome) { put_(i, outcome, wanted_); };
  if (Status status = meter_.host->measure(tensors_, wanted_, take); !status) meter_.refuse_digests(status.error());
  return {};
}

void RequestBatch::pass_over(const std::vector<std::size_t>& whose, const Wanted& wanted) {
  if (whose.empty()) return;
  std::vector<Tensor> some;
  some.reserve(whose.size());
  for (const std::size_t i : whose) some.push_back(tensors_[i]);
  const Take take = [&](std::size_t k, const TensorResult& outcome) { put_(whose[k], outcome, wanted); };
  if (Status status = meter_.host->measure(some, wanted, take); !status) meter_.refuse_digests(status.error());
}

// Reads a tensor in device memory window by window, for everything that the host computes.
Status RequestBatch::read_back(std::size_t tensor) {
  const Tensor& from = tensors_[tensor];
  const Wanted wanted = placed_.on_device(tensor) ? digests() : wanted_;
  Intake intake(meter_, from.dtype, wanted);
  HostWindow window(meter_);
  const std::uint64_t most = elements_of(from.dtype, HostWindow::kBytes);
  for (std::uint64_t first = 0; first < from.element_count; first += most) {
    const auto part = window.part(from, first, std::min(most, from.element_count - first));
    if (!part) return part.error();
    if (Status status = intake.take({part->data(), part->bytes()}, part->element_count); !status) return status;
  }
  put_(tensor, intake.finish(), wanted);
  return {};
}

}  // namespace tensorstat
