#include "kernels-cl/launch/upload_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tensorstat::cl_engine {
namespace {

// Long enough for an upload at full speed. Short enough that the first and the last upload, which overlap with nothing,
// are a small part of the whole.
constexpr std::uint64_t kSlotBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastSlotBytes = std::uint64_t{256} << 10;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + UploadRing::kSpacingBytes - 1) / UploadRing::kSpacingBytes * UploadRing::kSpacingBytes;
}

}  // namespace

Result<std::unique_ptr<UploadRing>> UploadRing::open(QueueContext& queue_context, const KernelKind& kind,
                                                     std::uint64_t total_bytes, QueueContext::Merge merge) {
  std::unique_ptr<UploadRing> ring(new UploadRing(queue_context, kind, std::move(merge)));
  // The cache may hand out an eighth more than it is asked for.
  const std::uint64_t room = queue_context.buffers().room_bytes() / 9 * 8;
  std::size_t count = total_bytes <= kLeastSlotBytes ? 1 : kSlots;
  while (count > 1 && room / count < 2 * kLeastSlotBytes) --count;
  const std::uint64_t share =
      room /
      count;  // for a slot and its workspace, where the codes of quantiles may take twice as many bytes as the slot
  const std::uint64_t parts = (kind.needs & kQuantiles) != 0 ? 3 : 2;
  ring->slot_bytes_ = std::min(
      {kSlotBytes, aligned(total_bytes / count + kSpacingBytes), share / parts / kSpacingBytes * kSpacingBytes});
  ring->most_workspace_bytes_ = share - ring->slot_bytes_;
  if (ring->slot_bytes_ == 0) return Error{Code::kOverBudget, "the budget has no room for a staging buffer"};
  for (std::size_t i = 0; i < count; ++i) {
    auto memory = queue_context.buffers().take(ring->slot_bytes_, "a staging buffer");
    if (!memory) return memory.error();
    ring->slots_.emplace_back().memory = *std::move(memory);
    ring->held_bytes_ += ring->slots_.back().memory.bytes;
  }
  return ring;
}

UploadRing::~UploadRing() {
  if (sent_() != nullptr && clWaitForEvents(1, &sent_()) != CL_SUCCESS) {
    settle(true);
    return;
  }
  for (Slot& slot : slots_) {
    if (slot.batch == nullptr || slot.batch->close()) queue_context_.buffers().give_back(std::move(slot.memory));
  }
}

// If the event of the last upload cannot be asked, the witnesses of the slots tell when no command uses them.
bool UploadRing::settle(bool batches_ended) noexcept {
  std::array<Witness, kSlots> witnesses;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto& batch = slots_[i].batch;
    batches_ended = (batch == nullptr || batch->close()) && batches_ended;
    witnesses[i] = std::move(slots_[i].memory.witness);
    slots_[i].memory.memory = {};
  }
  const std::span watched(witnesses.data(), slots_.size());
  const auto seen = [&] { return std::ranges::all_of(watched, &Witness::deleted); };
  const bool uploads_ended =
      sent_() == nullptr || come_to_rest(queue_context_.upload_queue(), {&sent_, 1}, seen) != Rest::kUnknown;
  for (Slot& slot : slots_) {
    // Memory that may be in use stays in the ledger; on the host it is never freed.
    if (uploads_ended && batches_ended) queue_context_.buffers().forget(slot.memory.bytes);
    if (!uploads_ended) keep_for_ever(slot.memory.host.release());
  }
  slots_.clear();
  sent_ = {};
  return uploads_ended;
}

// A batch reads only the slots. Only an upload can still read the tensors that were added.
Status UploadRing::give_up(Status why) {
  if (why || slots_.empty()) return why;
  const bool batches_ended = why.error().code != Code::kInUse;
  const bool uploads_ended = settle(batches_ended);
  if (uploads_ended && batches_ended) return why;
  return Error{uploads_ended ? Code::kDevice : Code::kInUse, why.error().message};
}

Status UploadRing::add(const Task& task, std::size_t job) { return give_up(stage(task, job)); }

// Whether a tensor goes through a slot. A single tensor always does: it comes here only if the device cannot read it
// in place, or if the caller may overwrite it after a stream's append. In a pair, the tensor in device memory stays.
bool UploadRing::is_sent(const Task& task, const Tensor& tensor) const {
  return !task.kind.beside || (tensor.where != Where::kClBuffer && !queue_context_.follows(tensor));
}

// How many of the `left` elements fit into `room` bytes of a slot, with spaces between two tensors.
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

Status UploadRing::stage(const Task& task, std::size_t job) {
  for (std::uint64_t done = 0; done < task.count();) {
    Slot& slot = slots_[filling_];
    std::uint64_t end = aligned(slot.used_bytes);
    const std::uint64_t room = end < slot_bytes_ ? slot_bytes_ - end : 0;
    Piece part = task.piece(job, done, elements_for(task, task.count() - done, room));
    for (std::size_t i = 0; i < part.kind.tensors(); ++i) {
      const Tensor& tensor = task.operands[i];
      if (is_sent(task, tensor)) {
        part.sources[i] = {slot.memory.memory(), end};
        end = aligned(end + bytes_of(tensor.dtype, part.count));
      } else {
        part.sources[i] = source_of(tensor, done);
      }
    }
    const std::size_t before = slot.pieces.size();
    cut(queue_context_.device(), part, slot_bytes_, slot.pieces);
    std::uint64_t workspace = 0;
    for (std::size_t i = before; i < slot.pieces.size(); ++i) {
      workspace += workspace_bytes(queue_context_.device(), std::span(slot.pieces).first(i), slot.pieces[i]);
    }
    const bool fits = part.count != 0 && slot.workspace_bytes + workspace <= most_workspace_bytes_;
    if (!fits && slot.used_bytes != 0) {
      slot.pieces.resize(before);
      if (Status status = turn(); !status) return status;
      continue;
    }
    if (!fits) return Error{Code::kOverBudget, "the budget has no room for a staging buffer and its workspace"};
    for (const Tensor& tensor : task.tensors()) {
      if (!is_sent(task, tensor)) continue;
      const std::byte* const from = tensor.data() + bytes_of(tensor.dtype, done);
      if (Status status = put(from, bytes_of(tensor.dtype, part.count)); !status) return status;
    }
    slot.workspace_bytes += workspace;
    done += part.count;
  }
  return {};
}

Status UploadRing::put(const std::byte* from, std::uint64_t bytes) {
  Slot& slot = slots_[filling_];
  const std::uint64_t offset = aligned(slot.used_bytes);
  if (bytes < kWorthACommandBytes) {
    auto& packed = slot.memory.host;
    if (packed == nullptr) packed = std::make_unique_for_overwrite<std::byte[]>(slot.memory.bytes);
    std::memcpy(packed.get() + offset, from, bytes);
    slot.used_bytes = offset + bytes;
    return {};
  }
  if (Status status = send_packed(); !status) return status;
  slot.used_bytes = slot.sent_bytes = offset + bytes;
  return send(from, offset, bytes);
}

Status UploadRing::send_packed() {
  Slot& slot = slots_[filling_];
  const std::uint64_t offset = std::exchange(slot.sent_bytes, slot.used_bytes);
  return offset == slot.used_bytes ? Status{} : send(slot.memory.host.get() + offset, offset, slot.used_bytes - offset);
}

Status UploadRing::send(const std::byte* from, std::uint64_t offset, std::uint64_t bytes) {
  cl::Event sent;
  const cl_int code = clEnqueueWriteBuffer(queue_context_.upload_queue()(), slots_[filling_].memory.memory(), CL_FALSE,
                                           offset, bytes, from, 0, nullptr, &sent());
  if (code != CL_SUCCESS) return error("uploading a tensor", "clEnqueueWriteBuffer", code);
  sent_ = std::move(sent);
  return {};
}

Status UploadRing::turn() {
  if (Status status = send_packed(); !status) return status;
  Slot& slot = slots_[filling_];
  const cl_int code = clFlush(queue_context_.upload_queue()());
  if (code != CL_SUCCESS) return error("uploading a tensor", "clFlush", code);
  auto batch = queue_context_.enqueue(queue_, std::move(slot.pieces), {}, {&sent_(), sent_() == nullptr ? 0u : 1u});
  if (!batch) return batch.error();
  slot.batch = *std::move(batch);
  std::uint64_t sum = 0;
  for (const Slot& each : slots_) sum += each.memory.bytes + (each.batch ? each.batch->device_bytes() : 0);
  held_bytes_ = std::max(held_bytes_, sum);
  filling_ = (filling_ + 1) % slots_.size();
  return collect(slots_[filling_]);
}

Status UploadRing::collect(Slot& slot) {
  if (slot.batch == nullptr) return {};
  if (Status status = slot.batch->wait(); !status) return status;
  merge_(*slot.batch);
  slot.batch.reset();
  slot.pieces.clear();
  slot.used_bytes = slot.sent_bytes = slot.workspace_bytes = 0;
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
  if (slots_[filling_].used_bytes != 0) {
    if (Status status = turn(); !status) return status;
  }
  for (Slot& slot : slots_) {
    if (Status status = collect(slot); !status) return status;
  }
  return {};
}

}  // namespace tensorstat::cl_engine
