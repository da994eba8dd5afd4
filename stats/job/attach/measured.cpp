// The only source of this room that includes kernels-cl: its bindings need another version of OpenCL's headers.
#include "kernels-cl/driver/cl.hpp"
// Keep this order.
#include "kernels-cl/launch/queue_context.hpp"
#include "stats/core/base/abandon.hpp"
#include "stats/core/base/caught.hpp"
#include "stats/core/engine/ledger.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/job/attach/measured.hpp"

namespace tensorstat::attach {
namespace {

using cl_engine::QueueContext;

struct Wants {
  Categories statistics;
  Needs needs;
};

class ReadingOnQueue final : public Reading {
 public:
  ReadingOnQueue(const Wants& wants, std::unique_ptr<cl_engine::Batch> batch, std::vector<Partial> partials)
      : wants_(wants), partials_(std::move(partials)), batch_(std::move(batch)) {}

  cl_event event() const override { return batch_->event(); }

  Result<Measurements> collect() override try {
    if (Status status = batch_->collect(std::span(partials_)); !status) return std::move(status).error();
    const Wanted wanted{Precision::kHigh, wants_.needs, true, 1};
    auto results = Measurements::State::make(wants_.statistics, wants_.needs, partials_.size());
    for (std::size_t i = 0; i < partials_.size(); ++i) {
      results->put(i, partials_[i].dtype(), {.words = partials_[i].words(), .bins = {.kept = partials_[i].bins()}},
                   wanted);
    }
    results->set_placement({"opencl", "submitted to its queue", batch_->device_bytes()});
    return Measurements(std::move(results));
  } catch (...) {
    return caught();
  }

 private:
  const Wants& wants_;
  std::vector<Partial> partials_;
  std::unique_ptr<cl_engine::Batch> batch_;
};

class ReaderInContext final : public Reader {
 public:
  ReaderInContext(Categories statistics) {
    wants_.needs = needs(statistics, Precision::kHigh);
    wants_.statistics = std::move(statistics);
  }

  Status open(cl_context context, cl_device_id device) {
    auto opened = QueueContext::open_in(cl::Context(context, true), cl::Device(device, true), ledger_);
    if (!opened) return std::move(opened).error();
    queue_context_ = *std::move(opened);
    if (queue_context_->device().device() != device) {
      return Error{Code::kDevice, "the program's device cannot be used: " + queue_context_->device().info.refusal};
    }
    return {};
  }

  Result<std::unique_ptr<Reading>> read(cl_command_queue queue, std::span<const Extent> extents,
                                        std::span<const cl_event> wait_list) override try {
    std::vector<Partial> partials;
    std::vector<cl_engine::Piece> pieces;
    std::vector<cl::Buffer> sources;
    partials.reserve(extents.size());
    std::uint64_t total_bytes = 0;
    for (const Extent& extent : extents) {
      partials.emplace_back(extent.dtype, Precision::kHigh, wants_.needs);
      total_bytes += bytes_of(extent.dtype, extent.count);
      // Only until it is enqueued: OpenCL keeps what its commands use.
      sources.emplace_back(extent.memory, true);
    }
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const Tensor tensor{.dtype = extents[i].dtype,
                          .element_count = extents[i].count,
                          .address = extents[i].memory,
                          .where = Where::kClBuffer};
      const Job job{tensor, &partials[i]};
      if (Status added = queue_context_->add(cl_engine::task_of(job), i, total_bytes, pieces, sources); !added) {
        return std::move(added).error();
      }
    }
    auto batch =
        queue_context_->enqueue(cl::CommandQueue(queue, true), std::move(pieces), std::move(sources), wait_list);
    if (!batch) return batch.error();
    return std::unique_ptr<Reading>(std::make_unique<ReadingOnQueue>(wants_, *std::move(batch), std::move(partials)));
  } catch (...) {
    return caught();
  }

  cl_command_queue own_queue() const override { return queue_context_->own_queue()(); }

 private:
  Wants wants_;
  Ledger ledger_{std::nullopt};
  std::unique_ptr<QueueContext> queue_context_;
};

}  // namespace

Result<std::unique_ptr<Reader>> Reader::open(cl_context context, cl_device_id device, Categories statistics) try {
  auto reader = std::make_unique<ReaderInContext>(std::move(statistics));
  if (Status opened = reader->open(context, device); !opened) return std::move(opened).error();
  return std::unique_ptr<Reader>(std::move(reader));
} catch (...) {
  return caught();
}

}  // namespace tensorstat::attach
