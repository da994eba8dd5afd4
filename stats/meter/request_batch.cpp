#include "stats/meter/request_batch.hpp"

#include <algorithm>
#include <utility>

#include "stats/base/abandon.hpp"

namespace tensorstat {
namespace {

// The host reads device memory in windows of this size.
constexpr std::uint64_t kReadBackBytes = std::uint64_t{8} << 20;

// The limits of tensors in one launch: each takes some hundred bytes of the device and its engine, and a batch may have
// a million tensors. If the device is the host's processor, the limit is lower: a launch is cheap there, and its memory
// is reused from the cache.
constexpr std::size_t kMostOnDevice = 16384, kMostOnHostsDevice = 2048;
// The limit of tensor bytes in one launch with quantiles. The non-empty bins may take eight times as much.
constexpr std::uint64_t kMostWithQuantiles = std::uint64_t{32} << 20;

bool has_statistics(const Categories& categories) { return !std::ranges::all_of(categories, is_digest); }

}  // namespace

Wanted wanted_by(const Request& request) {
  return {request.precision, needs(request.categories, request.precision), has_statistics(request.categories),
          request.cast_scale};
}

RequestBatch::RequestBatch(Meter::State& meter, std::span<const Tensor> tensors, const Request& request,
                           const Wanted& wanted, Put put)
    : meter_(meter), tensors_(tensors), request_(request), wanted_(wanted), put_(std::move(put)) {}

Status RequestBatch::run() {
  std::uint64_t total_bytes = 0;
  bool any_in_cl_mem = false;
  for (const Tensor& tensor : tensors_) {
    total_bytes += tensor.bytes();
    any_in_cl_mem |= tensor.where == Where::kClBuffer;
  }
  // Digests are always computed on the host.
  const char* const all_on_host = wanted_.partial ? why_all_on_host(request_, total_bytes) : "";
  if (all_on_host != nullptr && !any_in_cl_mem) {
    one_.reason = all_on_host;
    return pass_over_all();
  }
  if (wanted_.partial) {
    if (Status status = place(total_bytes); !status) return status;
  }
  if (Status status = fold_on_device(); !status) return status;
  return pass_on_host();
}

Status RequestBatch::place(std::uint64_t total_bytes) {
  Placements placements(request_, total_bytes, *meter_.host, meter_.sight());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    const auto placement = placements.place(tensor);
    if (!placement) return placement.error();
    if (tensor.where == Where::kClBuffer && placements.all()[*placement].on_device) {
      if (Status status = meter_.device->check(tensor); !status) return status;
    }
    if (*placement != 0) placement_of_.resize(tensors_.size());  // all tensors before have placement 0
    if (!placement_of_.empty()) placement_of_[i] = *placement;
  }
  several_ = std::move(placements.all());
  return {};
}

Status RequestBatch::fold_on_device() {
  if (std::ranges::none_of(placements(), &Placement::on_device)) return {};
  const Wanted statistics{wanted_.precision, static_cast<Needs>(wanted_.needs & ~kDigests), true, wanted_.cast_scale};
  std::vector<std::size_t> whose;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (on_device(i)) whose.push_back(i);
  }
  std::uint64_t held_bytes = 0;
  for (auto rest = std::span<const std::size_t>(whose); !rest.empty();) {
    const auto some = rest.first(at_once(rest));
    const auto gave_up = fold_on_device(some, statistics, held_bytes);
    if (!gave_up) return gave_up.error();
    if (!gave_up->empty()) {
      move_to_host(rest, *gave_up);
      break;
    }
    rest = rest.subspan(some.size());
  }
  for (Placement& placement : several_) placement.device_bytes = placement.on_device ? held_bytes : 0;
  return {};
}

// How many of these tensors go into one launch. The results for quantiles may be larger than the tensors.
std::size_t RequestBatch::at_once(std::span<const std::size_t> whose) const {
  const std::size_t most =
      std::min(whose.size(), meter_.device->shares_host_memory() ? kMostOnHostsDevice : kMostOnDevice);
  if ((wanted_.needs & kQuantiles) == 0) return most;
  std::uint64_t bytes = tensors_[whose[0]].bytes();
  std::size_t count = 1;
  while (count < most && (bytes += tensors_[whose[count]].bytes()) <= kMostWithQuantiles) ++count;
  return count;
}

// Folds these tensors on the device. If the text is not empty, it says why the device gave up, and no tensor was
// folded.
Result<std::string> RequestBatch::fold_on_device(std::span<const std::size_t> whose, const Wanted& statistics,
                                                 std::uint64_t& held_bytes) {
  std::vector<Partial> partials;
  std::vector<Job> jobs;
  partials.reserve(whose.size());
  jobs.reserve(whose.size());
  for (const std::size_t i : whose) {
    partials.emplace_back(tensors_[i].dtype, statistics.precision, statistics.needs, statistics.cast_scale);
    jobs.push_back({tensors_[i], &partials.back()});
  }
  auto gave_up = meter_.fold_on_device(jobs, request_.on, held_bytes);
  if (!gave_up || !gave_up->empty()) return gave_up;
  for (std::size_t k = 0; k < whose.size(); ++k) {
    put_(whose[k], {.words = partials[k].words(), .bins = {.kept = partials[k].bins()}}, statistics);
  }
  return gave_up;
}

void RequestBatch::move_to_host(std::span<const std::size_t> whose, const std::string& reason) {
  placement_of_.resize(tensors_.size());
  for (const std::size_t i : whose) placement_of_[i] = static_cast<std::uint32_t>(several_.size());
  several_.push_back({false, reason});
}

Status RequestBatch::pass_on_host() {
  const bool all_here = std::ranges::none_of(placements(), &Placement::on_device) &&
                        std::ranges::none_of(tensors_, [](const Tensor& t) { return t.where == Where::kClBuffer; });
  if (all_here) return pass_over_all();
  const Wanted digests{wanted_.precision, static_cast<Needs>(wanted_.needs & kDigests), false};
  std::vector<std::size_t> both, digests_alone;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (on_device(i) && digests.needs == 0) continue;
    if (tensors_[i].where == Where::kClBuffer) {
      if (Status status = read_back(i); !status) return status;
    } else {
      (on_device(i) ? digests_alone : both).push_back(i);
    }
  }
  pass_over(both, wanted_);
  pass_over(digests_alone, digests);
  return {};
}

Status RequestBatch::pass_over_all() {
  const Take take = [this](std::size_t i, const Found& found) { put_(i, found, wanted_); };
  if (Status status = meter_.host->measure(tensors_, wanted_, take); !status) meter_.refuse_digests(status.error());
  return {};
}

void RequestBatch::pass_over(const std::vector<std::size_t>& whose, const Wanted& wanted) {
  if (whose.empty()) return;
  std::vector<Tensor> some;
  some.reserve(whose.size());
  for (const std::size_t i : whose) some.push_back(tensors_[i]);
  const Take take = [&](std::size_t k, const Found& found) { put_(whose[k], found, wanted); };
  if (Status status = meter_.host->measure(some, wanted, take); !status) meter_.refuse_digests(status.error());
}

// Reads a tensor in device memory window by window, for everything that the host computes.
Status RequestBatch::read_back(std::size_t tensor) {
  const Tensor& from = tensors_[tensor];
  Wanted wanted = wanted_;
  if (on_device(tensor)) wanted = {wanted_.precision, static_cast<Needs>(wanted_.needs & kDigests), false};
  Intake intake(meter_, from.dtype, wanted);
  auto window = std::make_unique<std::vector<std::byte>>(std::min(from.bytes(), kReadBackBytes));
  for (std::uint64_t first = 0; first < from.bytes(); first += window->size()) {
    window->resize(std::min<std::uint64_t>(window->size(), from.bytes() - first));
    if (Status status = meter_.read_device(from, first, *window); !status) {
      if (status.error().code == Code::kInUse) abandon(std::move(window));  // the device may still write to it
      return status;
    }
    const std::uint64_t left = from.element_count - elements_of(from.dtype, first);
    if (Status status = intake.take(*window, std::min(elements_of(from.dtype, window->size()), left)); !status)
      return status;
  }
  put_(tensor, intake.finish(), wanted);
  return {};
}

}  // namespace tensorstat
