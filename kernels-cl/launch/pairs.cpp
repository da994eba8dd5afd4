#include "kernels-cl/launch/pairs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels-cl/launch/upload_ring.hpp"

namespace tensorstat::cl_engine {
namespace {

constexpr std::uint64_t kMostWindowBytes = std::uint64_t{16} << 20;
// What a tensor may take in a window beside its own bytes.
constexpr std::uint64_t kSpacingBytes = 64;

std::uint64_t spaced(std::uint64_t bytes) { return (bytes + kSpacingBytes - 1) / kSpacingBytes * kSpacingBytes; }

// A window of device memory that parts of pairs are copied to, and compared in.
class Window {
 public:
  // For about so many bytes, as far as the budget has room for a window and the workspace of its batch.
  static Result<std::unique_ptr<Window>> open(QueueContext& context, std::uint64_t total_bytes,
                                              QueueContext::Merge merge) {
    // The cache may hand out an eighth more than it is asked for.
    const std::uint64_t room = context.buffers().room_bytes() / 9 * 8;
    const std::uint64_t bytes =
        std::min({kMostWindowBytes, spaced(total_bytes), room / 2 / kSpacingBytes * kSpacingBytes});
    if (bytes == 0) return Error{Code::kOverBudget, "the budget has no room for a window of two tensors"};
    auto memory = context.buffers().take(bytes, "a window of two tensors");
    if (!memory) return memory.error();
    std::unique_ptr<Window> window(new Window(context, bytes, room - bytes, std::move(merge)));
    window->memory_ = *std::move(memory);
    if (window->memory_.host == nullptr) {
      window->memory_.host = std::make_unique_for_overwrite<std::byte[]>(window->memory_.bytes);
    }
    return window;
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    if (sent_() != nullptr && clWaitForEvents(1, &sent_()) != CL_SUCCESS) settle();
    if (memory_.bytes != 0) context_.buffers().give_back(std::move(memory_));
  }

  // Takes a pair in, in parts. Its bytes in host memory are not needed any more when this returns.
  Status add(const TensorPair& pair, const PairTolerance& tolerance, std::size_t number, std::uint64_t first_index) {
    const std::uint64_t element_bytes = sent_bytes(pair.a) + sent_bytes(pair.b);
    for (std::uint64_t done = 0; done < pair.a.element_count;) {
      const std::uint64_t room = bytes_ - used_bytes_, beside = 2 * kSpacingBytes;
      const std::uint64_t part =
          std::min(pair.a.element_count - done, room < beside ? 0 : (room - beside) / element_bytes);
      const std::size_t before = pieces_.size();
      const std::uint64_t used_before = used_bytes_;
      if (part != 0) {
        const auto [source_a, at_a] = place(pair.a, done, part);
        const auto [source_b, at_b] = place(pair.b, done, part);
        cut(context_.device(),
            {source_a, pair.a.dtype, kNothing, number, at_a, part, first_index + done, 1, false,
             Piece::Beside{source_b, pair.b.dtype, at_b, tolerance}},
            bytes_, pieces_);
      }
      std::uint64_t workspace = 0;
      for (std::size_t i = before; i < pieces_.size(); ++i)
        workspace += workspace_bytes(context_.device(), {}, pieces_[i]);
      if (part != 0 && workspace_bytes_ + workspace <= most_workspace_bytes_) {
        workspace_bytes_ += workspace;
        done += part;
        continue;
      }
      pieces_.resize(before);
      used_bytes_ = used_before;
      if (before == 0)
        return Error{Code::kOverBudget, "the budget has no room for a window of two tensors and its workspace"};
      if (Status status = fold(); !status) return status;
    }
    return {};
  }

  // Compares what was taken in.
  Status fold() {
    if (pieces_.empty()) return {};
    std::vector<Piece> pieces;
    pieces.swap(pieces_);
    const std::uint64_t bytes = std::exchange(used_bytes_, 0);
    workspace_bytes_ = 0;
    if (bytes != 0) {
      const cl_int code = clEnqueueWriteBuffer(context_.own_queue()(), memory_.memory(), CL_FALSE, 0, bytes,
                                               memory_.host.get(), 0, nullptr, &sent_());
      if (code != CL_SUCCESS) return give_up(error("uploading two tensors", "clEnqueueWriteBuffer", code));
      const cl_int flushed = clFlush(context_.own_queue()());
      if (flushed != CL_SUCCESS) return give_up(error("uploading two tensors", "clFlush", flushed));
    }
    auto batch = context_.enqueue(context_.queue(), std::move(pieces), {}, {&sent_(), sent_() == nullptr ? 0u : 1u});
    if (!batch) return give_up(batch.error());
    held_bytes_ = std::max(held_bytes_, memory_.bytes + batch->device_bytes());
    if (Status status = batch->wait(); !status) return give_up(status.error());
    sent_ = {};  // the batch was behind it
    merge_(*batch);
    return {};
  }

  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  Window(QueueContext& context, std::uint64_t bytes, std::uint64_t most_workspace_bytes, QueueContext::Merge merge)
      : context_(context), merge_(std::move(merge)), bytes_(bytes), most_workspace_bytes_(most_workspace_bytes) {}

  // Shared virtual memory may be read there though host memory is not.
  bool stays(const Tensor& tensor) const { return tensor.where == Where::kClBuffer || context_.follows(tensor); }

  // Of an element, how many bytes go through the window.
  std::uint64_t sent_bytes(const Tensor& tensor) const { return stays(tensor) ? 0 : size_bytes(tensor.dtype); }

  std::pair<cl_mem, std::uint64_t> place(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
    const std::uint64_t first_byte = tensor.offset_bytes + first * size_bytes(tensor.dtype);
    if (tensor.where == Where::kClBuffer) {
      return {static_cast<cl_mem>(const_cast<void*>(tensor.address)), first_byte};
    }
    if (stays(tensor)) return {nullptr, reinterpret_cast<std::uintptr_t>(tensor.address) + first_byte};
    const std::uint64_t at = used_bytes_, bytes = count * size_bytes(tensor.dtype);
    std::memcpy(memory_.host.get() + at, static_cast<const std::byte*>(tensor.address) + first_byte, bytes);
    used_bytes_ = spaced(at + bytes);
    return {memory_.memory(), at};
  }

  // After a failure: gives the window up, once nothing uses it any more, as far as that can be told.
  Error give_up(Error why) {
    settle(why.code != Code::kInUse);
    return why;
  }
  void settle(bool batch_ended = true) noexcept {
    const Witness witness = std::move(memory_.witness);
    memory_.memory = {};
    const bool upload_ended = sent_() == nullptr || come_to_rest(context_.own_queue(), {&sent_, 1},
                                                                 [&] { return witness.deleted(); }) != Rest::kUnknown;
    if (upload_ended && batch_ended) context_.buffers().forget(memory_.bytes);
    if (!upload_ended) keep_for_ever(memory_.host.release());
    memory_ = {};
    sent_ = {};
  }

  QueueContext& context_;
  const QueueContext::Merge merge_;
  const std::uint64_t bytes_, most_workspace_bytes_;
  BufferCache::Buffer memory_{};
  cl::Event sent_{};  // the upload, until it is known to have ended
  std::vector<Piece> pieces_{};
  std::uint64_t used_bytes_ = 0, workspace_bytes_ = 0, held_bytes_ = 0;
};

// What is compared in one context.
struct Party {
  std::shared_ptr<QueueContext> context;
  std::vector<Piece> pieces{};
  std::vector<cl::Buffer> sources{};
  std::vector<std::size_t> uploads{};
};

std::uint64_t bytes_of(const TensorPair& pair) { return pair.a.bytes() + pair.b.bytes(); }

}  // namespace

Result<std::shared_ptr<QueueContext>> context_of_pair(ContextSet& contexts, const TensorPair& pair) {
  auto of_a = contexts.of(pair.a), of_b = contexts.of(pair.b);
  if (!of_a || !of_b || *of_a == *of_b) return of_a ? of_b : of_a;
  const bool both_are_buffers = pair.a.where == Where::kClBuffer && pair.b.where == Where::kClBuffer;
  if (both_are_buffers) return Error{Code::kUnsupported, "its two tensors are in two OpenCL contexts"};
  const bool a_is_buffer = pair.a.where == Where::kClBuffer;
  const auto& context = a_is_buffer ? *of_a : *of_b;
  // Shared virtual memory is that of one context, unless the device follows any pointer.
  const bool shares = (a_is_buffer ? pair.b : pair.a).where == Where::kSharedMemory;
  if (shares && !context->device().follows_any_pointer()) {
    return Error{Code::kUnsupported, "one of its tensors is in shared virtual memory of another OpenCL context"};
  }
  return context;
}

Result<std::uint64_t> compare_pairs(ContextSet& contexts, std::span<const TensorPair> pairs, std::uint64_t first_index,
                                    std::span<PairPartial> partials) {
  std::uint64_t total_bytes = 0;
  for (const TensorPair& pair : pairs) total_bytes += bytes_of(pair);
  std::vector<Party> parties;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].a.element_count == 0) continue;
    auto context = context_of_pair(contexts, pairs[i]);
    if (!context) return context.error();
    auto party = std::ranges::find(parties, *context, &Party::context);
    if (party == parties.end()) party = parties.insert(party, {.context = *std::move(context)});
    // Many small ones are packed sooner than seen through a buffer each.
    const auto is_packed = [&](const Tensor& tensor) {
      return tensor.where != Where::kClBuffer && !party->context->follows(tensor);
    };
    const bool packed = pairs.size() > 1 && bytes_of(pairs[i]) < kWorthACommandBytes &&
                        (is_packed(pairs[i].a) || is_packed(pairs[i].b));
    if (packed || !party->context->in_place(pairs[i])) {
      party->uploads.push_back(i);
      continue;
    }
    Status status = party->context->add(pairs[i], partials[i].tolerance(), i, first_index, total_bytes, party->pieces,
                                        party->sources);
    if (!status) return status.error();
  }
  std::vector<PairPartial> results;  // until all have succeeded
  results.reserve(partials.size());
  for (const PairPartial& each : partials) results.emplace_back(each.dtype_a(), each.dtype_b(), each.tolerance());
  const auto merge = [&](const Batch& batch) {
    batch.merge_pairs_into([&](std::size_t pair) -> PairPartial& { return results[pair]; });
  };
  std::uint64_t held_bytes = 0;
  for (Party& party : parties) {
    if (Status status = party.context->fold(party.pieces, party.sources, merge, held_bytes); !status)
      return status.error();
    if (party.uploads.empty()) continue;
    std::uint64_t uploaded_bytes = 0;
    for (const std::size_t i : party.uploads) {
      uploaded_bytes += bytes_of(pairs[i]) + 2 * kSpacingBytes;
      // Before the window takes its memory: a kernel that is new is checked, and the check wants some too.
      const KernelKind kind{pairs[i].a.dtype, kNothing, pairs[i].b.dtype};
      if (Status status = party.context->prepare(kind); !status) return status.error();
    }
    auto window = Window::open(*party.context, uploaded_bytes, merge);
    if (!window) return window.error();
    for (const std::size_t i : party.uploads) {
      if (Status status = (*window)->add(pairs[i], partials[i].tolerance(), i, first_index); !status)
        return status.error();
    }
    if (Status status = (*window)->fold(); !status) return status.error();
    held_bytes = std::max(held_bytes, (*window)->held_bytes());
  }
  for (std::size_t i = 0; i < partials.size(); ++i) partials[i] = std::move(results[i]);
  return held_bytes;
}

}  // namespace tensorstat::cl_engine
