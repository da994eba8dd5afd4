#include "kernels-cl/launch/upload_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tensorstat::cl_engine {
namespace {

// Long enough for an upload at full speed. Short enough that the first and the last upload, which overlap with nothing,
// are a small part of the whole.
constexpr std::uint64_t kWindowBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastWindowBytes = std::uint64_t{256} << 10;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + UploadRing::kSpacingBytes - 1) / UploadRing::kSpacingBytes * UploadRing::kSpacingBytes;
}

}  // namespace

Result<std::unique_ptr<UploadRing>> UploadRing::open(QueueContext& queue_context, const KernelKind& kind,
                                                     std::uint64_t total_bytes, QueueContext::Merge merge) {
  std::unique_ptr<UploadRing> ring(new UploadRing(queue_context, kind, std::move(merge)));
  // The cache may hand out an eighth more than it is asked for.
  const std::uint64_t room = queue_context.buffers().room_bytes() / 9 * 8;
  std::size_t count = total_bytes <= kLeastWindowBytes ? 1 : kWindows;
  while (count > 1 && room / count < 2 * kLeastWindowBytes) --count;
  const std::uint64_t share =
      room / count;  // for a window and its workspace, where the codes of quantiles may take twice the window's bytes
  const std::uint64_t parts = (kind.needs & kQuantiles) != 0 ? 3 : 2;
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
    if (window.batch == nullptr || window.batch->close()) queue_context_.buffers().give_back(std::move(window.memory));
  }
}

// If the event of the last upload cannot be asked, the witnesses of the windows tell when no command uses them.
bool UploadRing::settle(bool batches_ended) noexcept {
  std::array<Witness, kWindows> witnesses;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const auto& batch = windows_[i].batch;
    batches_ended = (batch == nullptr || batch->close()) && batches_ended;
    witnesses[i] = std::move(windows_[i].memory.witness);
    windows_[i].memory.memory = {};
  }
  const std::span watched(witnesses.data(), windows_.size());
  const auto seen = [&] { return std::ranges::all_of(watched, &Witness::deleted); };
  const bool uploads_ended =
      sent_() == nullptr || come_to_rest(queue_context_.upload_queue(), {&sent_, 1}, seen) != Rest::kUnknown;
  for (Window& window : windows_) {
    // Memory that may be in use stays in the ledger; on the host it is never freed.
    if (uploads_ended && batches_ended) queue_context_.buffers().forget(window.memory.bytes);
    if (!uploads_ended) keep_for_ever(window.memory.host.release());
  }
  windows_.clear();
  sent_ = {};
  return uploads_ended;
}

// A batch reads only the windows. Only an upload can still read the tensors that were added.
Status UploadRing::give_up(Status why) {
  if (why || windows_.empty()) return why;
  const bool batches_ended = why.error().code != Code::kInUse;
  const bool uploads_ended = settle(batches_ended);
  if (uploads_ended && batches_ended) return why;
  return Error{uploads_ended ? Code::kDevice : Code::kInUse, why.error().message};
}

Status UploadRing::add(const Task& task, std::size_t job) { return give_up(put_in_windows(task, job)); }

// Whether a tensor goes through a window. A single tensor always does: it comes here only if the device cannot read it
// in place, or if the caller may overwrite it after a stream's append. In a pair, the tensor in device memory stays.
bool UploadRing::is_sent(const Task& task, const Tensor& tensor) const {
  return !task.kind.beside || (tensor.where != Where::kClBuffer && !queue_context_.follows(tensor));
}

// How many of the `left` elements fit into `room` bytes of a window, with spaces between two tensors.
std::uint64_t UploadRing::elements_for(const Task& task, std::uint64_t left, std::uint64_t room) const {
  const std::uint64_t unit = (task.kind.needs & kLowKernel) != 0 ? kTileElements : elements_a_byte(task.kind.dtype);
  std::uint64_t left_bytes = 0, unit_bytes = 0, spaces = 0;
  for (const Tensor& tensor : task.tensors()) {
    if (!is_sent(task, tensor)) continue;
    if (unit_bytes != 0) spaces += kSpacingBytes;
    left_bytes += bytes_of(tensor.dtype, left);
    unit_bytes += bytes_of(tensor.dtype, unit);
  }
  if (left_bytes + spaces <= room) return left;
  return room <= spaces ? 0 : (room - spaces) / unit_bytes * unit;
}

Status UploadRing::put_in_windows(const Task& task, std::size_t job) {
  for (std::uint64_t done = 0; done < task.count();) {
    Window& window = windows_[filling_];
    std::uint64_t end = aligned(window.used_bytes);
    const std::uint64_t room = end < window_bytes_ ? window_bytes_ - end : 0;
    Piece part = task.piece(job, done, elements_for(task, task.count() - done, room));
    for (std::size_t i = 0; i < part.kind.tensors(); ++i) {
      const Tensor& tensor = task.operands[i];
      if (is_sent(task, tensor)) {
        part.sources[i] = {window.memory.memory(), end};
        end = aligned(end + bytes_of(tensor.dtype, part.count));
      } else {
        part.sources[i] = source_of(tensor, done);
      }
    }
    const std::size_t before = window.pieces.size();
    cut(queue_context_.device(), part, window_bytes_, window.pieces);
    std::uint64_t workspace = 0;
    for (std::size_t i = before; i < window.pieces.size(); ++i) {
      workspace += workspace_bytes(queue_context_.device(), std::span(window.pieces).first(i), window.pieces[i]);
    }
    const bool fits = part.count != 0 && window.workspace_bytes + workspace <= most_workspace_bytes_;
    if (!fits && window.used_bytes != 0) {
      window.pieces.resize(before);
      if (Status status = turn(); !status) return status;
      continue;
    }
    if (!fits) return Error{Code::kOverBudget, "the budget has no room for a staging window and its workspace"};
    for (const Tensor& tensor : task.tensors()) {
      if (!is_sent(task, tensor)) continue;
      const std::byte* const from = tensor.data() + bytes_of(tensor.dtype, done);
      if (Status status = put(from, bytes_of(tensor.dtype, part.count)); !status) return status;
    }
    window.workspace_bytes += workspace;
    done += part.count;
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
  auto batch = queue_context_.enqueue(queue_, std::move(window.pieces), {}, {&sent_(), sent_() == nullptr ? 0u : 1u});
  if (!batch) return batch.error();
  window.batch = *std::move(batch);
  std::uint64_t held = 0;
  for (const Window& each : windows_) held += each.memory.bytes + (each.batch ? each.batch->device_bytes() : 0);
  held_bytes_ = std::max(held_bytes_, held);
  filling_ = (filling_ + 1) % windows_.size();
  return collect(windows_[filling_]);
}

Status UploadRing::collect(Window& window) {
  if (window.batch == nullptr) return {};
  if (Status status = window.batch->wait(); !status) return status;
  merge_(*window.batch);
  window.batch.reset();
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
