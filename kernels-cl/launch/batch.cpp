#include "kernels-cl/launch/batch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "kernels-cl/driver/host_pointers.hpp"
#include "kernels-cl/launch/program.hpp"
#include "precision/partial.h"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/cast_bounds.hpp"
#include "stats/engine/quantile_codes.hpp"

namespace tensorstat::cl_engine {
namespace {

// Slices of Shape::kSlice are about this long where the device has work enough: long against a
// work-item's start, short against the whole.
constexpr std::uint64_t kLeastSliceBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostSliceBytes = std::uint64_t{256} << 20;  // < 2^30 elements, as the folds want

// pocl compiles a kernel anew for its first launch of 65,535 groups or more.
constexpr std::size_t kMostGroups = 65'534;

constexpr std::uint64_t kWordBytes = sizeof(std::int64_t);

// As slice.cl and pair_words.cl have them: first byte, count, partial, bins, casts; first bytes, count, first element,
// partial.
using Slice = std::array<std::uint64_t, 5>;
constexpr std::size_t kSliceWords = std::tuple_size_v<Slice>, kBinsInSlice = 3, kCastsInSlice = 4;

// Codes of a tensor that has fewer elements than this share of its bins are the host's to count: that takes it as long
// as to look at the bins, and they are an eighth of the bytes.
constexpr std::uint64_t kCodesToABin = 4;
// An atomic count has 32 bits.
constexpr std::uint64_t kMostCounted = std::numeric_limits<std::uint32_t>::max();

std::uint64_t bin_words(const Piece& piece) {
  const std::uint64_t bytes = piece.writes_codes ? piece.count * code_bytes(piece.dtype)
                                                 : std::uint64_t{code_count(piece.dtype)} * sizeof(std::uint32_t);
  return (bytes + kWordBytes - 1) / kWordBytes;
}

// Whether a piece is counted into the bins of another: lanes count with atomics, work-items do not.
bool shares_bins(const Device& device, const Piece& piece, const Piece& with) {
  return device.shape == Shape::kGroup && !piece.writes_codes && !with.writes_codes && piece.job == with.job &&
         piece.dtype == with.dtype && piece.source == with.source;
}

auto launch_key(const Piece& piece) {
  return std::tuple(piece.kind(), piece.source, piece.beside ? piece.beside->source : nullptr, piece.cast_scale);
}

void set_argument(cl_int& code, const cl::Kernel& kernel, cl_uint index, std::uint64_t value) {
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel(), index, sizeof value, &value);
}
// Where memory is null, offsets are addresses.
void set_argument(cl_int& code, const cl::Kernel& kernel, cl_uint index, cl_mem memory) {
  if (code == CL_SUCCESS) code = clSetKernelArg(kernel(), index, sizeof memory, memory == nullptr ? nullptr : &memory);
}

}  // namespace

void cut(const Device& device, Piece whole, std::uint64_t total_bytes, std::vector<Piece>& pieces) {
  const std::uint64_t most_bytes =
      std::clamp(total_bytes / (device.compute_units * 4) + 1, kLeastSliceBytes, kMostSliceBytes);
  std::uint64_t most = whole.beside ? most_bytes / whole.element_bytes() : elements_of(whole.dtype, most_bytes);
  if (device.shape == Shape::kGroup) {
    most = whole.beside ? most_pairs_a_group(device, whole.element_bytes(), total_bytes)
                        : most_elements_a_group(device, whole.dtype, total_bytes);
  }
  if ((whole.needs & kLowKernel) != 0) most = std::max(kTileElements, most / kTileElements * kTileElements);
  const bool in_groups = device.shape == Shape::kGroup;
  const bool of_few = whole.count * kCodesToABin <= code_count(whole.dtype);
  const bool may_write = (whole.needs & kQuantiles) != 0 && !unpacks(whole.dtype);  // what is unpacked is counted
  while (whole.count != 0) {
    Piece piece = whole;
    piece.count = std::min(most, whole.count);
    // A work-item's counts are its own: it writes codes wherever those are the smaller.
    const bool is_smaller = piece.count * code_bytes(piece.dtype) <= code_count(piece.dtype) * sizeof(std::uint32_t);
    piece.writes_codes = may_write && (in_groups ? of_few : is_smaller);
    pieces.push_back(piece);
    whole.first_byte += bytes_of(whole.dtype, piece.count);
    if (whole.beside) whole.beside->first_byte += bytes_of(whole.beside->dtype, piece.count);
    whole.first_element += piece.count;
    whole.count -= piece.count;
  }
}

std::uint64_t workspace_bytes(const Device& device, std::span<const Piece> pieces, const Piece& piece) {
  std::uint64_t words = kSliceWords + piece.kind().words();
  if ((piece.needs & kScaledCasts) != 0) words += kCastBoundWords;
  const bool has_bins = (piece.needs & kQuantiles) != 0;
  if (has_bins && (pieces.empty() || !shares_bins(device, piece, pieces.back()))) words += bin_words(piece);
  return words * kWordBytes;
}

Result<Batch> Batch::enqueue(const Device& device, BufferCache& buffers, const cl::CommandQueue& queue,
                             std::vector<Piece> pieces, const KernelOf& kernel_of, std::span<const cl_event> wait_list,
                             std::vector<cl::Buffer> sources) {
  Batch batch;
  batch.pieces_ = std::move(pieces);
  batch.sources_ = std::move(sources);
  batch.buffers_ = &buffers;
  batch.queue_ = queue;
  batch.lay_out(device);
  // Before the workspace: a kernel that is new is checked, and the check wants device memory too.
  std::vector<std::shared_ptr<Kernel>> kernels;
  for (const Launch& launch : batch.launches_) {
    auto kernel = kernel_of(batch.pieces_[launch.first_piece].kind());
    if (!kernel) return kernel.error();
    kernels.push_back(*std::move(kernel));
  }
  if (batch.image_words_ != 0 && device.pointers != Pointers::kSameSpace) {
    auto workspace = buffers.take(batch.image_words_ * kWordBytes, "the slices and partials of a batch");
    if (!workspace) return workspace.error();
    batch.workspace_ = *std::move(workspace);
  }
  if (Status status = batch.start(device, kernels, wait_list); !status) return batch.give_up(status.error());
  return batch;
}

// All slices first, launch by launch, then all partials, then all bins: one upload, and one read-back of all but
// slices. Bins are not uploaded.
void Batch::lay_out(const Device& device) {
  if (!std::ranges::is_sorted(pieces_, {}, launch_key)) std::ranges::stable_sort(pieces_, {}, launch_key);
  const bool in_groups = device.shape == Shape::kGroup;
  partials_at_ = image_words_ = pieces_.size() * kSliceWords;
  std::size_t all_bin_words = 0;
  struct Bounds {
    std::size_t words_at;
    CastBounds words;
  };
  std::vector<Bounds> bounds;  // before the partials of the launch that they are of
  std::vector<Slice> slices;
  slices.reserve(pieces_.size());
  targets_.reserve(pieces_.size());
  for (std::size_t i = 0; i < pieces_.size();) {
    const std::size_t casts_at = image_words_;
    if ((pieces_[i].needs & kScaledCasts) != 0) {
      bounds.push_back({casts_at, cast_bounds(pieces_[i].dtype, pieces_[i].cast_scale)});
      image_words_ += kCastBoundWords;
    }
    const KernelKind kind = pieces_[i].kind();
    Launch launch{i, i, i * kSliceWords, image_words_, kind.words(), 0};
    const auto key = launch_key(pieces_[i]);
    // Work-groups merge word by word. Indices and fingerprints of a slice begin with the slice, so such slices have a
    // partial each. Pairs have one each, too: their indices count from the tensors' beginning, but belong to a key.
    const bool shared_partials =
        in_groups && !pieces_[i].beside && (pieces_[i].needs & (kFingerprints | kIndices)) == 0;
    for (; i < pieces_.size() && launch_key(pieces_[i]) == key && i - launch.first_piece < kMostGroups; ++i) {
      // Bins have a partial each, whose words tell their infinities from NaN.
      const bool has_bins = (pieces_[i].needs & kQuantiles) != 0, is_first = i == launch.first_piece;
      const bool adds_to_bins = has_bins && !is_first && shares_bins(device, pieces_[i], pieces_[i - 1]) &&
                                bins_.back().count + pieces_[i].count <= kMostCounted;
      if (is_first || !shared_partials || pieces_[i].job != pieces_[i - 1].job || has_bins != adds_to_bins) {
        targets_.push_back(
            {pieces_[i].job, image_words_, image_words_ + kind.count_word(), 0, pieces_[i].first_element});
        image_words_ += launch.words;
      }
      targets_.back().count += pieces_[i].count;
      const std::size_t partial = (targets_.back().words_at - launch.partials_at) / launch.words;
      if (const auto& beside = pieces_[i].beside) {
        slices.push_back(
            {pieces_[i].first_byte, beside->first_byte, pieces_[i].count, pieces_[i].first_element, partial});
        continue;
      }
      slices.push_back({pieces_[i].first_byte, pieces_[i].count, partial, 0, casts_at});
      if (!has_bins) continue;
      if (!adds_to_bins) {
        bins_.push_back(
            {pieces_[i].job, all_bin_words, pieces_[i].dtype, pieces_[i].writes_codes, 0, targets_.size() - 1, 0});
        all_bin_words += bin_words(pieces_[i]);
      }
      bins_.back().count += pieces_[i].count;
      bins_.back().end_target = targets_.size();
      slices.back()[kBinsInSlice] = bins_.back().words_at;
      clears_bins_ |= in_groups && !pieces_[i].writes_codes;
    }
    launch.end_piece = i;
    launch.end_target = targets_.size();
    launches_.push_back(launch);
  }
  bins_at_ = image_words_;
  image_words_ += all_bin_words;
  image_ = std::make_unique_for_overwrite<std::int64_t[]>(image_words_);
  const std::uint64_t base =
      device.pointers == Pointers::kSameSpace ? reinterpret_cast<std::uintptr_t>(image_.get()) : 0;
  for (BinTarget& target : bins_) target.words_at += bins_at_;
  for (const Bounds& each : bounds) {
    std::memcpy(image_.get() + each.words_at, each.words.data(), sizeof each.words);
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (pieces_[i].beside) continue;
    std::uint64_t &bins = slices[i][kBinsInSlice], &casts = slices[i][kCastsInSlice];
    bins = base + (bins_at_ + bins) * kWordBytes + (pieces_[i].writes_codes ? 1 : 0);
    casts = base + casts * kWordBytes;
  }
  if (!slices.empty()) std::memcpy(image_.get(), slices.data(), partials_at_ * kWordBytes);
  // Work-groups merge into what is there, work-items overwrite it; and a kernel that was lost leaves counts
  // of 0, which show.
  std::size_t i = 0;
  for (const Launch& launch : launches_) {
    for (; i < launch.end_target; ++i) {
      const std::span partial(image_.get() + targets_[i].words_at, launch.words);
      if (in_groups && !pieces_[launch.first_piece].beside) clear(pieces_[launch.first_piece].dtype, partial);
      image_[targets_[i].count_at] = 0;
    }
  }
}

cl_int Batch::launch(const Device& device, const Launch& launch, Kernel& kernel, std::span<const cl_event> before,
                     cl_event* folded) const {
  const std::span pieces(pieces_.data() + launch.first_piece, pieces_.data() + launch.end_piece);
  const std::optional<Piece::Beside>& beside = pieces[0].beside;
  const cl_mem source = pieces[0].source, workspace = workspace_.memory();
  const std::uint64_t base = workspace == nullptr ? reinterpret_cast<std::uintptr_t>(image_.get()) : 0;
  const std::uint64_t slices_at = base + launch.slices_at * kWordBytes,
                      partials_at = base + launch.partials_at * kWordBytes;
  const bool by_address = source == nullptr || (beside && beside->source == nullptr);
  const cl::Kernel& chosen = by_address ? kernel.of_pointers : kernel.of_memory;
  const std::lock_guard lock(kernel.arguments);
  cl_int code = CL_SUCCESS;
  if (by_address) code = announce(chosen, device.pointers, pieces);
  cl_uint next = 0;
  set_argument(code, chosen, next++, source);
  if (beside) set_argument(code, chosen, next++, beside->source);
  set_argument(code, chosen, next++, workspace);
  set_argument(code, chosen, next++, slices_at);
  set_argument(code, chosen, next++, partials_at);
  if (beside) {
    set_argument(code, chosen, next++, std::bit_cast<std::uint64_t>(beside->tolerance.rtol));
    set_argument(code, chosen, next++, std::bit_cast<std::uint64_t>(beside->tolerance.atol));
    set_argument(code, chosen, next++, std::uint64_t{beside->tolerance.scale == PairTolerance::Scale::kGreater});
  }
  if (code != CL_SUCCESS) return code;
  const std::size_t local = device.group_size, global = pieces.size() * local;
  return clEnqueueNDRangeKernel(queue_(), chosen(), 1, nullptr, &global, &local, static_cast<cl_uint>(before.size()),
                                before.empty() ? nullptr : before.data(), folded);
}

Status Batch::start(const Device& device, std::span<const std::shared_ptr<Kernel>> kernels,
                    std::span<const cl_event> wait_list) {
  const std::string doing = "folding " + std::to_string(pieces_.size()) + " slices on " + device.info.name;
  commands_.reserve(launches_.size() + 3);  // from here on nothing may be enqueued and then forgotten
  std::vector<cl_event> before(wait_list.begin(), wait_list.end()), last;
  before.reserve(before.size() + 2);
  last.reserve(launches_.size());
  if (workspace_.memory() != nullptr) {
    cl::Event uploaded;
    const cl_int code = clEnqueueWriteBuffer(queue_(), workspace_.memory(), CL_FALSE, 0, bins_at_ * kWordBytes,
                                             image_.get(), 0, nullptr, &uploaded());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
    before.push_back(uploaded());
    commands_.push_back(std::move(uploaded));
  }
  if (clears_bins_ && workspace_.memory() == nullptr) {
    std::fill(image_.get() + bins_at_, image_.get() + image_words_, 0);
  } else if (clears_bins_) {
    cl::Event cleared;
    const cl_uint zero = 0;
    const cl_int code = clEnqueueFillBuffer(queue_(), workspace_.memory(), &zero, sizeof zero, bins_at_ * kWordBytes,
                                            (image_words_ - bins_at_) * kWordBytes, 0, nullptr, &cleared());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueFillBuffer", code);
    before.push_back(cleared());
    commands_.push_back(std::move(cleared));
  }
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    cl::Event folded;
    const cl_int code = launch(device, launches_[i], *kernels[i], before, &folded());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueNDRangeKernel or its arguments", code);
    last.push_back(folded());
    commands_.push_back(std::move(folded));
    ++launched_;
  }
  if (launches_.empty()) last = std::move(before);
  cl_int code = CL_SUCCESS;
  if (workspace_.memory() != nullptr) {
    code = clEnqueueReadBuffer(queue_(), workspace_.memory(), CL_FALSE, partials_at_ * kWordBytes,
                               (image_words_ - partials_at_) * kWordBytes, image_.get() + partials_at_,
                               static_cast<cl_uint>(last.size()), last.data(), &done_());
  } else if (launches_.size() == 1) {
    done_ = commands_.back();
  } else {
    code = clEnqueueMarkerWithWaitList(queue_(), static_cast<cl_uint>(last.size()),
                                       last.empty() ? nullptr : last.data(), &done_());
  }
  if (code != CL_SUCCESS) return error(doing, "enqueueing the results", code);
  if (workspace_.memory() != nullptr || launches_.size() != 1) commands_.push_back(done_);
  code = clFlush(queue_());
  if (code != CL_SUCCESS) return error(doing, "clFlush", code);
  return {};
}

// In the host's own address space the kernels' last deed is to write their counts here; the pieces have been
// read by then.
bool Batch::results_are_there() const {
  const std::size_t end = launched_ == 0 ? 0 : launches_[launched_ - 1].end_target;
  return std::all_of(targets_.begin(), targets_.begin() + static_cast<std::ptrdiff_t>(end), [&](const Target& target) {
    const std::atomic_ref count(image_[target.count_at]);
    return static_cast<std::uint64_t>(count.load(std::memory_order_acquire)) == target.count;
  });
}

// After a failure: waits until nothing is under way. False: that cannot be told, and what the device may still
// use of this object is kept for ever.
bool Batch::settle() noexcept {
  const bool has_workspace = workspace_.memory() != nullptr;
  workspace_.memory = {};  // from here on only the commands hold it
  const Rest rest = come_to_rest(queue_, commands_,
                                 [&] { return has_workspace ? workspace_.witness.deleted() : results_are_there(); });
  commands_.clear();
  if (rest != Rest::kUnknown && has_workspace) buffers_->forget(workspace_.bytes);
  // Where its counts were seen, the last of its other words may still be on their way.
  if (rest == Rest::kUnknown || (rest == Rest::kSeen && !has_workspace)) keep_for_ever(image_.release());
  workspace_ = {};
  return rest != Rest::kUnknown;
}

Error Batch::give_up(Error why) {
  if (!commands_.empty() && !settle()) why.code = Code::kInUse;
  return why;
}

Status Batch::wait() {
  if (!commands_.empty()) {
    const cl_int code = clWaitForEvents(1, &done_());
    if (code != CL_SUCCESS) return give_up(error("waiting for a batch", "clWaitForEvents", code));
    commands_.clear();
  }
  for (const Target& target : targets_) {
    if (image_ == nullptr || static_cast<std::uint64_t>(image_[target.count_at]) != target.count) {
      return Error{Code::kDevice, "a kernel left no result, though no call failed"};
    }
  }
  return {};
}

void Batch::merge_bins(const BinTarget& target, BinCounter& counter, Partial& partial) const {
  const auto* const found = reinterpret_cast<const std::byte*>(image_.get() + target.words_at);
  counter.open(target.dtype);
  if (target.holds_codes) {
    counter.take_codes({found, target.count * code_bytes(target.dtype)});
  } else {
    counter.take_counts({reinterpret_cast<const std::uint32_t*>(found), code_count(target.dtype)}, target.count);
  }
  // Some codes are of Inf and NaN, which the words tell apart.
  std::array<std::int64_t, PARTIAL_FIELDS> words{};
  for (std::size_t i = target.first_target; i < target.end_target; ++i) {
    for (const int field : {PARTIAL_POSITIVE_INFS, PARTIAL_NEGATIVE_INFS})
      words[field] += image_[targets_[i].words_at + field];
  }
  counter.close(words);
  merge(partial.bins(), {.counter = &counter});
  counter.clear();
}

Status Batch::collect(std::span<Partial> results) {
  if (Status status = wait(); !status) return status;
  merge_into([&](std::size_t job) -> Partial& { return results[job]; });
  return {};
}

Status Batch::collect(std::span<PairPartial> results) {
  if (Status status = wait(); !status) return status;
  merge_pairs_into([&](std::size_t job) -> PairPartial& { return results[job]; });
  return {};
}

void Batch::swap(Batch& other) noexcept {
  std::swap(pieces_, other.pieces_);
  std::swap(launches_, other.launches_);
  std::swap(targets_, other.targets_);
  std::swap(bins_, other.bins_);
  std::swap(sources_, other.sources_);
  std::swap(image_, other.image_);
  std::swap(partials_at_, other.partials_at_);
  std::swap(bins_at_, other.bins_at_);
  std::swap(image_words_, other.image_words_);
  std::swap(clears_bins_, other.clears_bins_);
  std::swap(buffers_, other.buffers_);
  std::swap(workspace_, other.workspace_);
  std::swap(queue_, other.queue_);
  std::swap(commands_, other.commands_);
  std::swap(done_, other.done_);
  std::swap(launched_, other.launched_);
}

Batch::Batch(Batch&& other) noexcept { swap(other); }

Batch& Batch::operator=(Batch&& other) noexcept {
  swap(other);
  return *this;
}

bool Batch::close() noexcept {
  const bool asks = !commands_.empty() && clWaitForEvents(1, &done_()) != CL_SUCCESS;
  if (asks && !settle()) return false;
  commands_.clear();
  return true;
}

Batch::~Batch() {
  static_cast<void>(close());
  if (buffers_ != nullptr && workspace_.bytes != 0) buffers_->give_back(std::move(workspace_));
}

}  // namespace tensorstat::cl_engine
