#include "kernels-cl/batch.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels-cl/program.hpp"
#include "precision/partial.h"

namespace tensorstat::cl_engine {
namespace {

// Slices of Shape::kSlice are about this long where the device has work enough: long against a
// work-item's start, short against the whole.
constexpr std::uint64_t kLeastSliceBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostSliceBytes = std::uint64_t{256} << 20;  // < 2^30 elements, as the folds want

constexpr std::size_t kSliceWords = 3;  // as slice.cl has it
constexpr std::uint64_t kWordBytes = sizeof(std::int64_t);

auto launch_key(const Piece& piece) { return std::tuple(piece.dtype, piece.needs, piece.source); }

}  // namespace

void cut(const Device& device, Piece whole, std::uint64_t total_bytes, std::vector<Piece>& pieces) {
  const std::uint64_t element_bytes = size_bytes(whole.dtype);
  std::uint64_t most = std::clamp(total_bytes / (device.compute_units * 4) + 1, kLeastSliceBytes, kMostSliceBytes) /
                       element_bytes;
  if (device.shape == Shape::kGroup) most = most_elements_a_group(device, whole.dtype, total_bytes);
  if ((whole.needs & kLowKernel) != 0) most = std::max(kTileElements, most / kTileElements * kTileElements);
  while (whole.count != 0) {
    Piece piece = whole;
    piece.count = std::min(most, whole.count);
    pieces.push_back(piece);
    whole.first_byte += piece.count * element_bytes;
    whole.count -= piece.count;
  }
}

std::uint64_t workspace_bytes(const Piece& piece) { return (kSliceWords + partial_words(piece.dtype)) * kWordBytes; }

Result<Batch> Batch::enqueue(const Device& device, Pool& pool, const cl::CommandQueue& queue, std::vector<Piece> pieces,
                             const KernelOf& kernel_of, std::span<const cl_event> wait_list,
                             std::vector<cl::Buffer> sources) {
  Batch batch;
  batch.pieces_ = std::move(pieces);
  batch.sources_ = std::move(sources);
  batch.pool_ = &pool;
  batch.queue_ = queue;
  batch.lay_out(device);
  // Before the workspace: a kernel that is new is probed, and the probe wants device memory too.
  std::vector<cl::Kernel> kernels;
  for (const Launch& launch : batch.launches_) {
    const Piece& piece = batch.pieces_[launch.first_piece];
    auto kernel = kernel_of(piece.dtype, piece.needs);
    if (!kernel) return kernel.error();
    kernels.push_back(*std::move(kernel));
  }
  if (!batch.image_.empty()) {
    auto workspace = pool.take(batch.image_.size() * kWordBytes, "the slices and partials of a batch");
    if (!workspace) return workspace.error();
    batch.workspace_ = *std::move(workspace);
  }
  if (Status status = batch.start(device, kernels, wait_list); !status) return status.error();
  return batch;
}

// All slices first, launch by launch, then all partials: one upload, and one read-back of the rest.
void Batch::lay_out(const Device& device) {
  std::ranges::stable_sort(pieces_, {}, launch_key);
  const bool shared_partials = device.shape == Shape::kGroup;
  partials_at_ = pieces_.size() * kSliceWords;
  image_.resize(partials_at_);
  for (std::size_t i = 0; i < pieces_.size();) {
    Launch launch{i, i, i * kSliceWords, image_.size(), partial_words(pieces_[i].dtype)};
    const auto key = launch_key(pieces_[i]);
    for (; i < pieces_.size() && launch_key(pieces_[i]) == key; ++i) {
      if (i == launch.first_piece || !shared_partials || pieces_[i].job != pieces_[i - 1].job) {
        targets_.push_back({pieces_[i].job, image_.size(), 0});
        image_.resize(image_.size() + launch.words);
        // Work-groups merge into what is there; and a kernel that was lost leaves counts of 0, which show.
        clear(std::span(image_).last(launch.words));
      }
      targets_.back().count += pieces_[i].count;
      const std::size_t partial = (targets_.back().words_at - launch.partials_at) / launch.words;
      image_[i * kSliceWords] = static_cast<std::int64_t>(pieces_[i].first_byte);
      image_[i * kSliceWords + 1] = static_cast<std::int64_t>(pieces_[i].count);
      image_[i * kSliceWords + 2] = static_cast<std::int64_t>(partial);
    }
    launch.end_piece = i;
    launches_.push_back(launch);
  }
}

Status Batch::start(const Device& device, std::span<const cl::Kernel> kernels, std::span<const cl_event> wait_list) {
  const std::string doing = "folding " + std::to_string(pieces_.size()) + " slices on " + device.info.name;
  const auto wait_count = static_cast<cl_uint>(wait_list.size());
  const cl_event* wait_events = wait_list.empty() ? nullptr : wait_list.data();
  if (launches_.empty()) {
    const cl_int code = clEnqueueMarkerWithWaitList(queue_(), wait_count, wait_events, &done_());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueMarkerWithWaitList", code);
    under_way_ = true;
    return {};
  }
  cl::Event uploaded;
  cl_int code = clEnqueueWriteBuffer(queue_(), workspace_.memory(), CL_FALSE, 0, image_.size() * kWordBytes, image_.data(),
                                     0, nullptr, &uploaded());
  if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
  under_way_ = true;

  std::vector<cl_event> before(wait_list.begin(), wait_list.end());
  before.push_back(uploaded());
  std::vector<cl::Event> folded(launches_.size());
  std::vector<cl_event> folded_events;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    const cl_mem source = pieces_[launch.first_piece].source;
    const cl_ulong slices_at = launch.slices_at * kWordBytes, partials_at = launch.partials_at * kWordBytes;
    const cl_kernel kernel = kernels[i]();
    code = clSetKernelArg(kernel, 0, sizeof source, &source);
    if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 1, sizeof(cl_mem), &workspace_.memory());
    if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 2, sizeof slices_at, &slices_at);
    if (code == CL_SUCCESS) code = clSetKernelArg(kernel, 3, sizeof partials_at, &partials_at);
    if (code != CL_SUCCESS) return error(doing, "clSetKernelArg", code);
    const std::size_t local = device.group_size, global = (launch.end_piece - launch.first_piece) * local;
    code = clEnqueueNDRangeKernel(queue_(), kernel, 1, nullptr, &global, &local, static_cast<cl_uint>(before.size()),
                                  before.data(), &folded[i]());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueNDRangeKernel", code);
    folded_events.push_back(folded[i]());
  }
  code = clEnqueueReadBuffer(queue_(), workspace_.memory(), CL_FALSE, partials_at_ * kWordBytes,
                             (image_.size() - partials_at_) * kWordBytes, image_.data() + partials_at_,
                             static_cast<cl_uint>(folded_events.size()), folded_events.data(), &done_());
  if (code != CL_SUCCESS) return error(doing, "clEnqueueReadBuffer", code);
  code = clFlush(queue_());
  if (code != CL_SUCCESS) return error(doing, "clFlush", code);
  return {};
}

// Until nothing of the batch is under way any more.
Status Batch::settle() {
  if (!std::exchange(under_way_, false)) return {};
  cl_int code = CL_SUCCESS;
  if (done_() != nullptr) code = clWaitForEvents(1, &done_());
  if (code == CL_SUCCESS && done_() != nullptr) return {};
  // A command may still write into the image: it is freed when the whole queue has come to rest, or never.
  if (clFinish(queue_()) != CL_SUCCESS) {
    new std::vector<std::int64_t>(std::move(image_));
    workspace_ = {};  // stays in the ledger, as it may stay on the device
    pool_ = nullptr;
  }
  return error("waiting for a batch", "clWaitForEvents", code);
}

Status Batch::collect(std::span<Partial> results) {
  if (Status status = settle(); !status) return status;
  for (const Target& target : targets_) {
    if (static_cast<std::uint64_t>(image_[target.words_at + PARTIAL_COUNT]) != target.count) {
      return Error{Code::kDevice, "a kernel left no result, though no call failed"};
    }
  }
  for (const Target& target : targets_) {
    Partial& result = results[target.job];
    merge(result.dtype(), result.words(), std::span(image_).subspan(target.words_at, result.words().size()));
  }
  return {};
}

void Batch::swap(Batch& other) noexcept {
  std::swap(pieces_, other.pieces_);
  std::swap(launches_, other.launches_);
  std::swap(targets_, other.targets_);
  std::swap(sources_, other.sources_);
  std::swap(image_, other.image_);
  std::swap(partials_at_, other.partials_at_);
  std::swap(pool_, other.pool_);
  std::swap(workspace_, other.workspace_);
  std::swap(queue_, other.queue_);
  std::swap(done_, other.done_);
  std::swap(under_way_, other.under_way_);
}

Batch::Batch(Batch&& other) noexcept { swap(other); }

Batch& Batch::operator=(Batch&& other) noexcept {
  swap(other);
  return *this;
}

Batch::~Batch() {
  static_cast<void>(settle());
  if (pool_ != nullptr && workspace_.bytes != 0) pool_->give_back(std::move(workspace_));
}

}  // namespace tensorstat::cl_engine
