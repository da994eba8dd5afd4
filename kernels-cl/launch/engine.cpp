#include "stats/engine/engine.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels-cl/launch/context_set.hpp"
#include "kernels-cl/launch/pairs.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/launch/upload_ring.hpp"
#include "stats/base/abandon.hpp"
#include "stats/engine/ledger.hpp"

namespace tensorstat {
namespace cl_engine {
namespace {

// A stream's length is not known before it ends.
constexpr std::uint64_t kUnknownBytes = std::uint64_t{1} << 40;

// Between uploads, the parts of a tensor that goes through a ring.
class Upload final : public DeviceStream {
 public:
  Upload(QueueContext& queue_context, std::unique_ptr<UploadRing> ring, const Partial& partial)
      : queue_context_(queue_context),
        ring_(std::move(ring)),
        needs_(kernel_needs(partial)),
        cast_scale_(partial.cast_scale()),
        elements_(partial.count()) {}
  ~Upload() override {
    if (queue_context_.forked()) abandon(std::move(ring_));
  }

  Status append(const Tensor& part) override {
    if (Status status = usable(); !status) return status;
    Status status = ring_->add(part, needs_, cast_scale_, 0, std::exchange(elements_, elements_ + part.element_count));
    if (status) status = ring_->release();
    return ended(std::move(status));
  }
  Status finish() override {
    if (Status status = usable(); !status) return status;
    return ended(ring_->finish());
  }
  std::uint64_t held_bytes() const override { return held_bytes_; }

 private:
  Status usable() const {
    if (queue_context_.forked()) return Error{Code::kDevice, "the process has forked since the stream began"};
    if (ring_ == nullptr) return Error{Code::kDevice, "an earlier part of the stream has failed"};
    return {};
  }
  Status ended(Status status) {
    held_bytes_ = ring_->held_bytes();
    if (status) return status;
    ring_.reset();
    return with_advice(std::move(status).error());
  }

  QueueContext& queue_context_;
  std::unique_ptr<UploadRing> ring_;
  const Needs needs_;
  const double cast_scale_;
  std::uint64_t elements_;  // so far
  std::uint64_t held_bytes_ = 0;
};

class OpenClEngine final : public DeviceEngine {
 public:
  OpenClEngine(std::unique_ptr<QueueContext> home, Ledger& ledger)
      : contexts_(std::make_unique<ContextSet>(std::move(home), ledger)) {}

  // A forked child cannot release what is the parent's: it would wait for threads that it does not have.
  ~OpenClEngine() override {
    if (home().forked()) abandon(std::move(contexts_));
  }

  std::string_view name() const override { return "opencl"; }
  std::string description() const override {
    return home().device().info.platform_name + ": " + home().device().info.name;
  }
  bool shares_host_memory() const override { return home().device().shares_host_memory; }
  bool is_slower_than_host() const override { return home().device().is_slower_than_host; }
  Status check(const Tensor& tensor) const override { return home().check(tensor); }
  std::string refusal(const Tensor& tensor, Precision precision) const override {
    const auto context = contexts_->of(tensor);
    return context ? (*context)->refusal(tensor, precision) : context.error().message;
  }

  Result<std::uint64_t> fold_counting(std::span<const Job> jobs) override {
    if (home().forked()) return Error{Code::kDevice, "the process has forked since the device was opened"};
    std::vector<Party> parties;
    if (Status status = part(jobs, parties); !status) return status.error();
    std::uint64_t held_bytes = 0;
    if (parties.size() == 1 && parties[0].uploads.empty() &&
        parties[0].context->batch_length(parties[0].pieces) == parties[0].pieces.size()) {
      const auto merge = [&](const Batch& batch) {
        batch.merge_into([&](std::size_t job) -> Partial& { return *jobs[job].partial; });
      };
      Status status = parties[0].context->fold_at_once(std::move(parties[0].pieces), std::move(parties[0].sources),
                                                       merge, held_bytes);
      if (!status) return with_advice(std::move(status).error());
      return held_bytes;
    }
    std::vector<Partial> results;  // until all have succeeded
    results.reserve(jobs.size());
    for (const Job& job : jobs) {
      results.emplace_back(job.partial->dtype(), job.partial->precision(), job.partial->needs(),
                           job.partial->cast_scale());
    }
    const auto result_of = [&](std::size_t job) -> Partial& { return results[job]; };
    for (Party& party : parties) {
      const auto merge = [&](const Batch& batch) { batch.merge_into(result_of); };
      Status status = party.context->fold(party.pieces, party.sources, merge, held_bytes);
      if (status) status = party.fold_uploaded(jobs, result_of, held_bytes);
      if (!status) return with_advice(std::move(status).error());
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (Status status = jobs[i].partial->merge(results[i]); !status) return status.error();
    }
    return held_bytes;
  }

  std::string refusal(const TensorPair& pair) const override {
    const auto context = context_of_pair(*contexts_, pair);
    return context ? (*context)->refusal(pair) : context.error().message;
  }

  Result<std::uint64_t> compare(std::span<const TensorPair> pairs, std::uint64_t first_index,
                                std::span<PairPartial> partials) override {
    if (home().forked()) return Error{Code::kDevice, "the process has forked since the device was opened"};
    auto held_bytes = compare_pairs(*contexts_, pairs, first_index, partials);
    return held_bytes ? held_bytes : with_advice(std::move(held_bytes).error());
  }

  Result<std::unique_ptr<DeviceStream>> stream(Partial& partial) override {
    if (Status status = home().prepare({partial.dtype(), kernel_needs(partial)}); !status) return status.error();
    auto ring = UploadRing::open(home(), kUnknownBytes, [&partial](std::size_t) -> Partial& { return partial; });
    if (!ring) return ring.error();
    return std::unique_ptr<DeviceStream>(std::make_unique<Upload>(home(), *std::move(ring), partial));
  }

  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) override {
    const auto context = contexts_->of(tensor);
    if (!context) return context.error();
    Status status = (*context)->read(tensor, first, bytes);
    return status ? status : with_advice(std::move(status).error());
  }

 private:
  QueueContext& home() const { return contexts_->home(); }

  // What is folded in one context: where the device reads it, or, of these jobs, by way of a ring.
  struct Party {
    std::shared_ptr<QueueContext> context;
    std::vector<Piece> pieces{};
    std::vector<cl::Buffer> sources{};
    std::vector<std::size_t> uploads{};

    Status fold_uploaded(std::span<const Job> jobs, const UploadRing::PartialOf& partial_of,
                         std::uint64_t& held_bytes) {
      if (uploads.empty()) return {};
      std::uint64_t total_bytes = 0;
      for (const std::size_t i : uploads) {
        total_bytes += jobs[i].tensor.bytes() + UploadRing::kSpacingBytes;
        // Before the ring takes its memory: a kernel that is new is checked, and the check wants some too.
        const Partial& partial = *jobs[i].partial;
        if (Status status = context->prepare({partial.dtype(), kernel_needs(partial)}); !status) return status;
      }
      auto ring = UploadRing::open(*context, total_bytes, partial_of);
      if (!ring) return ring.error();
      for (const std::size_t i : uploads) {
        const Partial& partial = *jobs[i].partial;
        Status status = (*ring)->add(jobs[i].tensor, kernel_needs(partial), partial.cast_scale(), i, partial.count());
        if (!status) return status;
      }
      Status status = (*ring)->finish();
      held_bytes = std::max(held_bytes, (*ring)->held_bytes());
      return status;
    }
  };

  // What the device reads where it is becomes pieces; the others are left for the ring.
  Status part(std::span<const Job> jobs, std::vector<Party>& parties) const {
    std::uint64_t total_bytes = 0;
    for (const Job& job : jobs) total_bytes += job.tensor.bytes();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Tensor& tensor = jobs[i].tensor;
      auto context = contexts_->of(tensor);
      if (!context) return context.error();
      auto party = std::ranges::find(parties, *context, &Party::context);
      if (party == parties.end()) {
        party = parties.insert(party, {.context = *std::move(context)});
        party->pieces.reserve(jobs.size() - i);
      }
      // Many small ones are packed sooner than seen through a buffer each.
      const bool packed = jobs.size() > 1 && tensor.where != Where::kClBuffer && !party->context->follows(tensor) &&
                          tensor.bytes() < kWorthACommandBytes;
      if (packed || !party->context->in_place(tensor)) {
        if (tensor.element_count != 0) party->uploads.push_back(i);
        continue;
      }
      Status status = party->context->add(jobs[i], i, total_bytes, party->pieces, party->sources);
      if (!status) return status;
    }
    return {};
  }

  std::unique_ptr<ContextSet> contexts_;
};

}  // namespace
}  // namespace cl_engine

Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger) {
  auto home = cl_engine::QueueContext::open(options, ledger);
  if (!home) return home.error();
  return std::unique_ptr<DeviceEngine>(std::make_unique<cl_engine::OpenClEngine>(*std::move(home), ledger));
}

}  // namespace tensorstat
