#include "stats/meter/pair_batch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "stats/base/abandon.hpp"

namespace tensorstat {
namespace {

// The host reads device memory in windows of this many elements.
constexpr std::uint64_t kReadBackElements = std::uint64_t{1} << 20;

// The limit of pairs in one launch: each takes about a thousand bytes of the device and its engine, and a batch may
// have a million pairs.
constexpr std::size_t kMostOnDevice = 16384;

bool in_cl_mem(const TensorPair& pair) { return pair.a.where == Where::kClBuffer || pair.b.where == Where::kClBuffer; }

}  // namespace

PairBatch::PairBatch(Meter::State& meter, std::span<const TensorPair> pairs, const PairRequest& request,
                     std::vector<PairPartial>& partials)
    : meter_(meter), pairs_(pairs), request_(request), partials_(partials), placed_as_{.on = request.on} {}

Status PairBatch::run() {
  if (Status status = place(); !status) return status;
  if (Status status = compare_on_device(); !status) return status;
  return compare_on_host();
}

std::vector<PairPlacement> PairBatch::placements() const {
  std::vector<PairPlacement> all;
  all.reserve(pairs_.size());
  for (const std::uint32_t index : placement_of_) {
    const Placed placed = meter_.placed(placements_[index]);
    all.push_back({placed.engine, std::string(placed.reason.text()), placed.device_bytes});
  }
  return all;
}

Status PairBatch::place() {
  placement_of_.resize(pairs_.size());
  std::uint64_t total_bytes = 0;
  for (const TensorPair& pair : pairs_) total_bytes += pair.a.bytes() + pair.b.bytes();
  const bool all_here = std::ranges::none_of(pairs_, in_cl_mem);
  if (const char* why = all_here ? why_all_on_host(placed_as_, total_bytes) : nullptr) {
    placements_.push_back({false, why});
    return {};
  }
  Placements placements(placed_as_, total_bytes, *meter_.host, meter_.sight());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const auto placement = placements.place(pairs_[i]);
    if (!placement) return placement.error();
    placement_of_[i] = *placement;
    if (!placements.all()[*placement].on_device) continue;
    for (const Tensor& tensor : {pairs_[i].a, pairs_[i].b}) {
      if (tensor.where != Where::kClBuffer) continue;
      if (Status status = meter_.device->check(tensor); !status) return status;
    }
  }
  placements_ = std::move(placements.all());
  return {};
}

Status PairBatch::compare_on_device() {
  if (std::ranges::none_of(placements_, &Placement::on_device)) return {};
  std::vector<std::size_t> whose;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (on_device(i)) whose.push_back(i);
  }
  std::uint64_t held_bytes = 0;
  for (auto rest = std::span<const std::size_t>(whose); !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kMostOnDevice));
    const auto gave_up = compare_on_device(some, held_bytes);
    if (!gave_up) return gave_up.error();
    if (!gave_up->empty()) {
      for (const std::size_t i : rest) placement_of_[i] = static_cast<std::uint32_t>(placements_.size());
      placements_.push_back({false, *gave_up});
      break;
    }
    rest = rest.subspan(some.size());
  }
  for (Placement& placement : placements_) placement.device_bytes = placement.on_device ? held_bytes : 0;
  return {};
}

// Compares these pairs on the device. If the text is not empty, it says why the device gave up, and no pair was
// compared.
Result<std::string> PairBatch::compare_on_device(std::span<const std::size_t> whose, std::uint64_t& held_bytes) {
  std::vector<TensorPair> some;
  std::vector<PairPartial> partials;
  some.reserve(whose.size());
  partials.reserve(whose.size());
  for (const std::size_t i : whose) {
    some.push_back(pairs_[i]);
    partials.push_back(partials_[i]);
  }
  auto gave_up = meter_.compare_on_device(some, request_, partials, held_bytes);
  if (!gave_up || !gave_up->empty()) return gave_up;
  for (std::size_t k = 0; k < whose.size(); ++k) partials_[whose[k]] = std::move(partials[k]);
  return gave_up;
}

Status PairBatch::compare_on_host() {
  std::vector<std::size_t> whose;
  std::vector<TensorPair> some;
  std::vector<PairPartial> partials;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (on_device(i)) continue;
    if (in_cl_mem(pairs_[i])) {
      if (Status status = read_back(i); !status) return status;
      continue;
    }
    whose.push_back(i);
    some.push_back(pairs_[i]);
  }
  if (whose.size() == pairs_.size()) {
    meter_.host->compare(pairs_, request_.first_index, partials_);
    return {};
  }
  for (const std::size_t i : whose) partials.push_back(partials_[i]);
  meter_.host->compare(some, request_.first_index, partials);
  for (std::size_t k = 0; k < whose.size(); ++k) partials_[whose[k]] = std::move(partials[k]);
  return {};
}

// Compares a pair with a tensor in device memory on the host, window by window.
Status PairBatch::read_back(std::size_t index) {
  const TensorPair& pair = pairs_[index];
  auto window_a = std::make_unique<std::vector<std::byte>>(), window_b = std::make_unique<std::vector<std::byte>>();
  // The elements [first, first + count): in place, or copied to the window.
  const auto part = [&](const Tensor& tensor, std::uint64_t first, std::uint64_t count,
                        auto& window) -> Result<Tensor> {
    const std::uint64_t first_byte = first * size_bytes(tensor.dtype);
    Tensor found{.dtype = tensor.dtype, .element_count = count};
    if (tensor.where != Where::kClBuffer && tensor.strides == nullptr) {
      found.address = tensor.data() + first_byte;
      return found;
    }
    window->resize(found.bytes());
    found.address = window->data();
    if (tensor.strides != nullptr) {
      meter_.host->gather(tensor, first, *window);
      return found;
    }
    if (Status status = meter_.read_device(tensor, first_byte, *window); !status) {
      if (status.error().code == Code::kInUse) abandon(std::move(window));  // the device may still write to it
      return status.error();
    }
    return found;
  };
  for (std::uint64_t first = 0; first < pair.a.element_count; first += kReadBackElements) {
    const std::uint64_t count = std::min(kReadBackElements, pair.a.element_count - first);
    const auto a = part(pair.a, first, count, window_a), b = part(pair.b, first, count, window_b);
    if (!a) return a.error();
    if (!b) return b.error();
    const TensorPair both{*a, *b};
    meter_.host->compare({&both, 1}, request_.first_index + first, {&partials_[index], 1});
  }
  return {};
}

}  // namespace tensorstat
