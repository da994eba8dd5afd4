#include "kernels-cl/launch/batch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "kernels-cl/driver/host_pointers.hpp"
#include "kernels-cl/launch/arguments.hpp"
#include "precision/partial.h"
#include "stats/core/engine/quantile_codes.hpp"

namespace tensorstat::cl_engine {
Batch::Batch(const Device& device, BufferCache& buffers, const cl::CommandQueue& queue, std::vector<Piece> pieces,
             std::vector<cl::Buffer> sources)
    : layout_(device, std::move(pieces)),
      buffers_(buffers),
      queue_(queue),
      sources_(std::move(sources)),
      image_(std::make_unique_for_overwrite<std::int64_t[]>(layout_.words())) {
  const bool is_workspace = device.pointers == Pointers::kSameSpace;
  layout_.fill(image_.get(), is_workspace ? image_address() : 0);
  if (is_workspace) layout_.clear(image_.get());
}

Result<std::unique_ptr<Batch>> Batch::enqueue(const Device& device, BufferCache& buffers, const cl::CommandQueue& queue,
                                              std::vector<Piece> pieces, const KernelOf& kernel_of,
                                              std::span<const cl_event> wait_list, std::vector<cl::Buffer> sources) {
  std::unique_ptr<Batch> batch(new Batch(device, buffers, queue, std::move(pieces), std::move(sources)));
  const BatchLayout& layout = batch->layout_;
  // Kernels first, then the workspace: the check of a new kernel needs device memory, too.
  std::vector<std::shared_ptr<Kernel>> kernels;
  for (const BatchLayout::Launch& launch : layout.launches()) {
    auto kernel = kernel_of(layout.pieces()[launch.first_piece].kind);
    if (!kernel) return kernel.error();
    kernels.push_back(*std::move(kernel));
  }
  if (layout.words() != 0 && device.pointers != Pointers::kSameSpace) {
    auto workspace = buffers.take(layout.words() * kWordBytes, "the slices and partials of a batch");
    if (!workspace) return workspace.error();
    batch->workspace_ = *std::move(workspace);
  }
  if (Status status = batch->start(device, kernels, wait_list); !status) return batch->give_up(status.error());
  return batch;
}

cl_int Batch::launch(const Device& device, const BatchLayout::Launch& launch, Kernel& kernel,
                     std::span<const cl_event> before, cl_event* folded) const {
  const std::span<const Piece> pieces = layout_.pieces(launch);
  const auto sources = std::span(pieces[0].sources).first(pieces[0].kind.tensors());
  const cl_mem workspace = workspace_.memory();
  const std::uint64_t base = workspace == nullptr ? image_address() : 0;
  const std::uint64_t slices_at = base + launch.slices_at * kWordBytes,
                      partials_at = base + launch.partials_at * kWordBytes;
  const bool by_address = std::ranges::find(sources, nullptr, &Source::memory) != sources.end();
  const cl::Kernel& chosen = by_address ? kernel.of_pointers : kernel.of_memory;
  const std::lock_guard lock(kernel.arguments);
  cl_int code = CL_SUCCESS;
  if (by_address) code = announce(chosen, device.pointers, pieces);
  cl_uint next = 0;
  for (const Source& source : sources) set_argument(code, chosen, next++, source.memory);
  set_argument(code, chosen, next++, workspace);
  set_argument(code, chosen, next++, slices_at);
  set_argument(code, chosen, next++, partials_at);
  if (pieces[0].kind.beside) {
    const PairTolerance& tolerance = pieces[0].tolerance;
    set_argument(code, chosen, next++, std::bit_cast<std::uint64_t>(tolerance.rtol));
    set_argument(code, chosen, next++, std::bit_cast<std::uint64_t>(tolerance.atol));
    set_argument(code, chosen, next++, std::uint64_t{tolerance.scale == PairTolerance::Scale::kGreater});
  }
  if (code != CL_SUCCESS) return code;
  const std::size_t local = device.group_size, global = pieces.size() * local;
  return clEnqueueNDRangeKernel(queue_(), chosen(), 1, nullptr, &global, &local, static_cast<cl_uint>(before.size()),
                                before.empty() ? nullptr : before.data(), folded);
}

Status Batch::start(const Device& device, std::span<const std::shared_ptr<Kernel>> kernels,
                    std::span<const cl_event> wait_list) {
  const std::string doing = "folding " + std::to_string(layout_.pieces().size()) + " slices on " + device.info.name;
  const std::span<const BatchLayout::Launch> launches = layout_.launches();
  commands_.reserve(launches.size() + 3);  // so that no push_back fails after its command was enqueued
  std::vector<cl_event> before(wait_list.begin(), wait_list.end()), last;
  before.reserve(before.size() + 2);
  last.reserve(launches.size());
  if (workspace_.memory() != nullptr) {
    cl::Event uploaded;
    cl_int code = clEnqueueWriteBuffer(queue_(), workspace_.memory(), CL_FALSE, 0, layout_.partials_at() * kWordBytes,
                                       image_.get(), 0, nullptr, &uploaded());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueWriteBuffer", code);
    before.push_back(uploaded());
    commands_.push_back(std::move(uploaded));
    cl::Event cleared;
    const cl_uint zero = 0;
    code = clEnqueueFillBuffer(queue_(), workspace_.memory(), &zero, sizeof zero, layout_.partials_at() * kWordBytes,
                               (layout_.zeros_end() - layout_.partials_at()) * kWordBytes, 0, nullptr, &cleared());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueFillBuffer", code);
    before.push_back(cleared());
    commands_.push_back(std::move(cleared));
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    cl::Event folded;
    const cl_int code = launch(device, launches[i], *kernels[i], before, &folded());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueNDRangeKernel or its arguments", code);
    last.push_back(folded());
    commands_.push_back(std::move(folded));
    ++launched_;
  }
  if (launches.empty()) last = std::move(before);
  cl_int code = CL_SUCCESS;
  if (workspace_.memory() != nullptr) {
    code = clEnqueueReadBuffer(queue_(), workspace_.memory(), CL_FALSE, layout_.partials_at() * kWordBytes,
                               (layout_.words() - layout_.partials_at()) * kWordBytes,
                               image_.get() + layout_.partials_at(), static_cast<cl_uint>(last.size()), last.data(),
                               &done_());
  } else if (launches.size() == 1) {
    done_ = commands_.back();
  } else {
    code = clEnqueueMarkerWithWaitList(queue_(), static_cast<cl_uint>(last.size()),
                                       last.empty() ? nullptr : last.data(), &done_());
  }
  if (code != CL_SUCCESS) return error(doing, "enqueueing the results", code);
  if (workspace_.memory() != nullptr || launches.size() != 1) commands_.push_back(done_);
  code = clFlush(queue_());
  if (code != CL_SUCCESS) return error(doing, "clFlush", code);
  return {};
}

// For a device in the host's address space. The last thing a kernel does is to write its counts here. By then it has
// read its pieces.
bool Batch::results_are_there() const {
  const std::size_t end = launched_ == 0 ? 0 : layout_.launches()[launched_ - 1].end_target;
  return std::ranges::all_of(layout_.targets().first(end),
                             [&](const BatchLayout::Target& target) { return target.is_written(image_.get()); });
}

// After a failure: waits until nothing is under way. False: that is not known. Then the memory that the device may
// still use is never freed.
bool Batch::settle() noexcept {
  const bool has_workspace = workspace_.memory() != nullptr;
  workspace_.memory = {};  // from here on only the commands hold it
  const Rest rest = come_to_rest(queue_, commands_,
                                 [&] { return has_workspace ? workspace_.witness.deleted() : results_are_there(); });
  commands_.clear();
  if (rest != Rest::kUnknown && has_workspace) buffers_.forget(workspace_.bytes);
  // After kSeen the counts are there, but other words may still be on their way.
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
  for (const BatchLayout::Target& target : layout_.targets()) {
    if (image_ == nullptr || !target.is_written(image_.get())) {
      return Error{Code::kDevice, "a kernel left no result, though no call failed"};
    }
  }
  return {};
}

void Batch::merge_bins(const BatchLayout::Bins& bins, BinCounter& counter, Partial& partial) const {
  const auto* const counted = reinterpret_cast<const std::byte*>(image_.get() + bins.words_at);
  counter.open(bins.dtype);
  if (bins.holds_codes) {
    counter.take_codes({counted, bins.count * code_bytes(bins.dtype)});
  } else {
    counter.take_counts({reinterpret_cast<const std::uint32_t*>(counted), code_count(bins.dtype)}, bins.count);
  }
  // Some bins hold Inf and NaN together. The words tell how many of them are Inf.
  std::array<std::int64_t, PARTIAL_FIELDS> words{};
  for (std::size_t i = bins.first_target; i < bins.end_target; ++i) {
    for (const int field : {PARTIAL_POSITIVE_INFS, PARTIAL_NEGATIVE_INFS})
      words[field] += image_[layout_.targets()[i].words_at + field];
  }
  counter.close(words);
  merge(partial.bins(), {.counter = &counter});
  counter.clear();
}

bool Batch::close() noexcept {
  const bool asks = !commands_.empty() && clWaitForEvents(1, &done_()) != CL_SUCCESS;
  if (asks && !settle()) return false;
  commands_.clear();
  return true;
}

Batch::~Batch() {
  static_cast<void>(close());
  if (workspace_.bytes != 0) buffers_.give_back(std::move(workspace_));
}

}  // namespace tensorstat::cl_engine
