#include "kernels-cl/launch/upload_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tensorstat::cl_engine {
namespace {

// Long enough for an upload's full speed, short enough that the first and the last, which nothing overlaps,
// are little of the whole.
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastWindowBytes = std::uint64_t{256} << 10;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + UploadRing::kSpacingBytes - 1) / UploadRing::kSpacingBytes * UploadRing::kSpacingBytes;
}

}  // namespace

Result<std::unique_ptr<UploadRing>> UploadRing::open(QueueContext& queue_context, std::uint64_t total_bytes,
                                                     PartialOf partial_of) {
  std::unique_ptr<UploadRing> ring(new UploadRing(queue_context, std::move(partial_of)));
  // The cache may hand out an eighth more than it is asked for.
  const std::uint64_t room = queue_context.buffers().room_bytes() / 9 * 8;
  std::size_t count = total_bytes <= kLeastWindowBytes ? 1 : kWindows;
  while (count > 1 && room / count < 2 * kLeastWindowBytes) --count;
  const std::uint64_t share =
      room / count;  // a window's, and its workspace's, where the codes of quantiles may be twice as large
  const std::uint64_t parts = (ring->partial_of_(0).needs() & kQuantiles) != 0 ? 3 : 2;
  ring->window_bytes_ = std::min(
      {kWindowBytes, aligned(total_bytes / count + kSpacingBytes), share / parts / kSpacingBytes * kSpacingBytes});
  ring->most_workspace_bytes_ = share - ring->window_bytes_;
  if (ring->window_bytes_ == 0) return Error{Code::kOverBudget, "the budget has no room for a staging window"};
  for (std::size_t i = 0; i < count; ++i) {
    auto memory = queue_context.buffers().take(ring->window_bytes_, "a staging window");
    if (!memory) return memory.error();
    ring->windows_.emplace_back().memory = *std::move(memory);
    ring->held_bytes_ += ring->windows_.back().memory.bytes;
  }
  return ring;
}

UploadRing::~UploadRing() {
  if (sent_() != nullptr && clWaitForEvents(1, &sent_()) != CL_SUCCESS) {
    settle(true);
    return;
  }
  for (Window& window : windows_) {
    if (window.batch.close()) queue_context_.buffers().give_back(std::move(window.memory));
  }
}

// Where the last upload cannot be asked, the windows tell: no command uses any of them any more.
bool UploadRing::settle(bool batches_ended) noexcept {
  std::array<Witness, kWindows> witnesses;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    batches_ended = windows_[i].batch.close() && batches_ended;
    witnesses[i] = std::move(windows_[i].memory.witness);
    windows_[i].memory.memory = {};
  }
  const std::span watched(witnesses.data(), windows_.size());
  const auto seen = [&] { return std::ranges::all_of(watched, &Witness::deleted); };
  const bool uploads_ended =
      sent_() == nullptr || come_to_rest(queue_context_.upload_queue(), {&sent_, 1}, seen) != Rest::kUnknown;
  for (Window& window : windows_) {
    // What may be in use stays in the ledger, and on the host for ever.
    if (uploads_ended && batches_ended) queue_context_.buffers().forget(window.memory.bytes);
    if (!uploads_ended) keep_for_ever(window.memory.host.release());
  }
  windows_.clear();
  sent_ = {};
  return uploads_ended;
}

// A batch reads the windows alone: only an upload can still read what was added.
Status UploadRing::give_up(Status why) {
  if (why || windows_.empty()) return why;
  const bool batches_ended = why.error().code != Code::kInUse;
  const bool uploads_ended = settle(batches_ended);
  if (uploads_ended && batches_ended) return why;
  return Error{uploads_ended ? Code::kDevice : Code::kInUse, why.error().message};
}

Status UploadRing::add(const Tensor& tensor, Needs needs, double cast_scale, std::size_t job,
                       std::uint64_t first_element) {
  return give_up(put_in_windows(tensor, needs, cast_scale, job, first_element));
}

Status UploadRing::put_in_windows(const Tensor& tensor, Needs needs, double cast_scale, std::size_t job,
                                  std::uint64_t first_element) {
  const std::uint64_t element_bytes = size_bytes(tensor.dtype);
  const std::uint64_t unit = (needs & kLowKernel) != 0 ? element_bytes * kTileElements : element_bytes;
  const std::byte* address = tensor.data();
  std::uint64_t left_elements = tensor.element_count;
  for (std::uint64_t left = tensor.bytes(); left != 0;) {
    Window& window = windows_[filling_];
    const std::uint64_t at = aligned(window.used_bytes);
    const std::uint64_t room = at < window_bytes_ ? window_bytes_ - at : 0;
    const std::uint64_t bytes = left <= room ? left : room / unit * unit;
    const std::uint64_t count = std::min(elements_of(tensor.dtype, bytes), left_elements);
    const std::size_t before = window.pieces.size();
    if (bytes != 0) {
      cut(queue_context_.device(),
          {window.memory.memory(), tensor.dtype, needs, job, at, count, first_element, cast_scale}, window_bytes_,
          window.pieces);
    }
    std::uint64_t workspace = 0;
    for (std::size_t i = before; i < window.pieces.size(); ++i) {
      workspace += workspace_bytes(queue_context_.device(), std::span(window.pieces).first(i), window.pieces[i]);
    }
    const bool fits = bytes != 0 && window.workspace_bytes + workspace <= most_workspace_bytes_;
    if (!fits && window.used_bytes != 0) {
      window.pieces.resize(before);
      if (Status status = turn(); !status) return status;
      continue;
    }
    if (!fits) return Error{Code::kOverBudget, "the budget has no room for a staging window and its workspace"};
    if (Status status = put(address, bytes); !status) return status;
    window.workspace_bytes += workspace;
    first_element += count;
    left_elements -= count;
    address += bytes;
    left -= bytes;
  }
  return {};
}

Status UploadRing::put(const std::byte* from, std::uint64_t bytes) {
  Window& window = windows_[filling_];
  const std::uint64_t at = aligned(window.used_bytes);
  if (bytes < kWorthACommandBytes) {
    auto& packed = window.memory.host;
    if (packed == nullptr) packed = std::make_unique_for_overwrite<std::byte[]>(window.memory.bytes);
    std::memcpy(packed.get() + at, from, bytes);
    window.used_bytes = at + bytes;
    return {};
  }
  if (Status status = send_packed(); !status) return status;
  window.used_bytes = window.sent_bytes = at + bytes;
  return send(from, at, bytes);
}

Status UploadRing::send_packed() {
  Window& window = windows_[filling_];
  const std::uint64_t at = std::exchange(window.sent_bytes, window.used_bytes);
  return at == window.used_bytes ? Status{} : send(window.memory.host.get() + at, at, window.used_bytes - at);
}

Status UploadRing::send(const std::byte* from, std::uint64_t at, std::uint64_t bytes) {
  cl::Event sent;
  const cl_int code = clEnqueueWriteBuffer(queue_context_.upload_queue()(), windows_[filling_].memory.memory(),
                                           CL_FALSE, at, bytes, from, 0, nullptr, &sent());
  if (code != CL_SUCCESS) return error("uploading a tensor", "clEnqueueWriteBuffer", code);
  sent_ = std::move(sent);
  return {};
}

Status UploadRing::turn() {
  if (Status status = send_packed(); !status) return status;
  Window& window = windows_[filling_];
  const cl_int code = clFlush(queue_context_.upload_queue()());
  if (code != CL_SUCCESS) return error("uploading a tensor", "clFlush", code);
  auto batch = queue_context_.enqueue(queue_context_.own_queue(), std::move(window.pieces), {},
                                      {&sent_(), sent_() == nullptr ? 0u : 1u});
  if (!batch) return batch.error();
  window.batch = *std::move(batch);
  std::uint64_t held = 0;
  for (const Window& each : windows_) held += each.memory.bytes + each.batch.device_bytes();
  held_bytes_ = std::max(held_bytes_, held);
  filling_ = (filling_ + 1) % windows_.size();
  return collect(windows_[filling_]);
}

Status UploadRing::collect(Window& window) {
  if (window.batch.event() == nullptr) return {};
  if (Status status = window.batch.wait(); !status) return status;
  window.batch.merge_into(partial_of_);
  window.batch = {};
  window.pieces.clear();
  window.used_bytes = window.sent_bytes = window.workspace_bytes = 0;
  return {};
}

Status UploadRing::release() {
  if (sent_() == nullptr) return {};
  const cl_int code = clWaitForEvents(1, &sent_());
  if (code != CL_SUCCESS) return give_up(error("uploading a tensor", "clWaitForEvents", code));
  sent_ = {};
  return {};
}

Status UploadRing::finish() {
  Status status = give_up(drain());
  if (status) sent_ = {};
  return status;
}

Status UploadRing::drain() {
  if (windows_[filling_].used_bytes != 0) {
    if (Status status = turn(); !status) return status;
  }
  for (Window& window : windows_) {
    if (Status status = collect(window); !status) return status;
  }
  return {};
}

}  // namespace tensorstat::cl_engine
