#include "stats/core/engine.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels-cl/launch/upload_ring.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "stats/core/abandon.hpp"
#include "stats/core/ledger.hpp"

namespace tensorstat {
namespace cl_engine {
namespace {

// Slices in one batch: what it takes on the way stays small beside the tensors.
constexpr std::size_t kMostSlices = 1 << 16;
// A stream's length is not known before it ends.
constexpr std::uint64_t kUnknownBytes = std::uint64_t{1} << 40;

// Between uploads, the parts of a tensor that goes through a ring.
class Upload final : public DeviceStream {
 public:
  Upload(QueueContext& queue_context, std::unique_ptr<UploadRing> ring, Needs needs)
      : queue_context_(queue_context), ring_(std::move(ring)), needs_(needs) {}
  ~Upload() override {
    if (queue_context_.forked()) abandon(std::move(ring_));
  }

  Status append(const Tensor& part) override {
    if (Status status = usable(); !status) return status;
    Status status = ring_->add(part, needs_, 0);
    if (status) status = ring_->release();
    if (!status) ring_.reset();  // waits: the part's bytes are the caller's again
    return status;
  }
  Status finish() override {
    if (Status status = usable(); !status) return status;
    return ring_->finish();
  }

 private:
  Status usable() const {
    if (queue_context_.forked()) return Error{Code::kDevice, "the process has forked since the stream began"};
    if (ring_ == nullptr) return Error{Code::kDevice, "an earlier part of the stream has failed"};
    return {};
  }

  QueueContext& queue_context_;
  std::unique_ptr<UploadRing> ring_;
  const Needs needs_;
};

class OpenClEngine final : public DeviceEngine {
 public:
  explicit OpenClEngine(std::unique_ptr<QueueContext> queue_context) : queue_context_(std::move(queue_context)) {}

  // A forked child cannot release what is the parent's: it would wait for threads that it does not have.
  ~OpenClEngine() override {
    if (queue_context_->forked()) abandon(std::move(queue_context_));
  }

  std::string_view name() const override { return "opencl"; }
  std::string description() const override {
    return queue_context_->device().info.platform_name + ": " + queue_context_->device().info.name;
  }
  bool shares_host_memory() const override { return queue_context_->device().shares_host_memory; }
  bool is_slower_than_host() const override { return queue_context_->device().is_slower_than_host; }
  Status check(const Tensor& tensor) const override { return queue_context_->check(tensor); }
  std::string refusal(const Tensor& tensor, Precision precision) const override {
    return queue_context_->refusal(tensor, precision);
  }

  Status fold(std::span<const Job> jobs) override {
    std::vector<Piece> pieces;
    std::vector<cl::Buffer> sources;
    std::vector<std::size_t> uploads;
    if (Status status = part(jobs, pieces, sources, uploads); !status) return status;
    if (uploads.empty() && batch_length(pieces) == pieces.size()) {
      return fold_batch(std::move(pieces), std::move(sources), [&](std::size_t job) -> Partial& { return *jobs[job].partial; });
    }
    std::vector<Partial> results;  // until all have succeeded
    results.reserve(jobs.size());
    for (const Job& job : jobs) {
      results.emplace_back(job.partial->dtype(), job.partial->precision(), job.partial->needs());
    }
    const auto result_of = [&](std::size_t job) -> Partial& { return results[job]; };
    if (Status status = fold_in_place(pieces, sources, result_of); !status) return status;
    if (Status status = fold_uploaded(jobs, uploads, result_of); !status) return status;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (Status status = jobs[i].partial->merge(results[i]); !status) return status;
    }
    return {};
  }

  Result<std::unique_ptr<DeviceStream>> stream(Partial& partial) override {
    const Needs needs = kernel_needs(partial);
    if (Status status = queue_context_->prepare(partial.dtype(), needs); !status) return status.error();
    auto ring = UploadRing::open(*queue_context_, kUnknownBytes, [&partial](std::size_t) -> Partial& { return partial; });
    if (!ring) return ring.error();
    return std::unique_ptr<DeviceStream>(std::make_unique<Upload>(*queue_context_, *std::move(ring), needs));
  }

  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) override {
    if (queue_context_->forked()) return Error{Code::kDevice, "the process has forked since the device was opened"};
    const char* doing = "reading a tensor back from the device";
    const cl_command_queue queue = queue_context_->queue()();
    cl::Event done;
    cl_int code = clEnqueueReadBuffer(queue, static_cast<cl_mem>(const_cast<void*>(tensor.address)), CL_FALSE,
                                      tensor.offset_bytes + first, bytes.size(), bytes.data(), 0, nullptr, &done());
    if (code != CL_SUCCESS) return error(doing, "clEnqueueReadBuffer", code);
    code = clWaitForEvents(1, &done());
    if (code == CL_SUCCESS) return {};
    clFinish(queue);  // or it might still write into `bytes`
    return error(doing, "clWaitForEvents", code);
  }

 private:
  // What the device reads where it is becomes pieces; the others are left for the ring.
  Status part(std::span<const Job> jobs, std::vector<Piece>& pieces, std::vector<cl::Buffer>& sources,
              std::vector<std::size_t>& uploads) const {
    std::uint64_t total_bytes = 0;
    for (const Job& job : jobs) total_bytes += job.tensor.bytes();
    pieces.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Tensor& tensor = jobs[i].tensor;
      // Many small ones are packed sooner than seen through a buffer each.
      const bool packed = jobs.size() > 1 && tensor.where != Where::kClBuffer && !queue_context_->follows(tensor) &&
                          tensor.bytes() < kWorthACommandBytes;
      if (packed || !queue_context_->in_place(tensor)) {
        if (tensor.element_count != 0) uploads.push_back(i);
        continue;
      }
      if (Status status = queue_context_->add(tensor, kernel_needs(*jobs[i].partial), i, total_bytes, pieces, sources); !status) {
        return status;
      }
    }
    return {};
  }

  // How many of these the budget has room for at once.
  std::size_t batch_length(std::span<const Piece> pieces) const {
    if (queue_context_->device().pointers == Pointers::kSameSpace) return std::min(pieces.size(), kMostSlices);
    const std::uint64_t room = queue_context_->buffers().room_bytes();
    std::uint64_t bytes = 0;
    std::size_t taken = 0;
    while (taken < std::min(pieces.size(), kMostSlices) && bytes + workspace_bytes(pieces[taken]) <= room) {
      bytes += workspace_bytes(pieces[taken++]);
    }
    return taken;
  }

  template <typename PartialOf>
  Status fold_batch(std::vector<Piece> pieces, std::vector<cl::Buffer> sources, const PartialOf& partial_of) {
    if (pieces.empty()) return {};
    auto batch = queue_context_->enqueue(queue_context_->queue(), std::move(pieces), std::move(sources));
    if (!batch) return batch.error();
    if (Status status = batch->wait(); !status) return status;
    batch->merge_into(partial_of);
    return {};
  }

  template <typename PartialOf>
  Status fold_in_place(std::span<const Piece> pieces, const std::vector<cl::Buffer>& sources, const PartialOf& partial_of) {
    while (!pieces.empty()) {
      const std::size_t taken = batch_length(pieces);
      if (taken == 0) {
        return Error{Code::kOverBudget, "the budget leaves " + std::to_string(queue_context_->buffers().room_bytes()) +
                                            " bytes, and a slice needs " + std::to_string(workspace_bytes(pieces[0]))};
      }
      const auto now = pieces.first(taken);
      if (Status status = fold_batch({now.begin(), now.end()}, sources, partial_of); !status) return status;
      pieces = pieces.subspan(taken);
    }
    return {};
  }

  Status fold_uploaded(std::span<const Job> jobs, std::span<const std::size_t> uploads, const UploadRing::PartialOf& partial_of) {
    if (uploads.empty()) return {};
    std::uint64_t total_bytes = 0;
    for (const std::size_t i : uploads) {
      total_bytes += jobs[i].tensor.bytes() + UploadRing::kSpacingBytes;
      // Before the ring takes its memory: a kernel that is new is checked, and the check wants some too.
      const Partial& partial = *jobs[i].partial;
      if (Status status = queue_context_->prepare(partial.dtype(), kernel_needs(partial)); !status) return status;
    }
    auto ring = UploadRing::open(*queue_context_, total_bytes, partial_of);
    if (!ring) return ring.error();
    for (const std::size_t i : uploads) {
      if (Status status = (*ring)->add(jobs[i].tensor, kernel_needs(*jobs[i].partial), i); !status) return status;
    }
    return (*ring)->finish();
  }

  std::unique_ptr<QueueContext> queue_context_;
};

}  // namespace
}  // namespace cl_engine

Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger) {
  auto queue_context = cl_engine::QueueContext::open(options, ledger);
  if (!queue_context) return queue_context.error();
  return std::unique_ptr<DeviceEngine>(std::make_unique<cl_engine::OpenClEngine>(*std::move(queue_context)));
}

}  // namespace tensorstat
