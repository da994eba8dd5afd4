#include "stats/core/engine/engine.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels-cl/launch/board.hpp"
#include "kernels-cl/launch/context_set.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/launch/upload_ring.hpp"
#include "stats/core/base/abandon.hpp"
#include "stats/core/engine/ledger.hpp"

namespace tensorstat {
namespace cl_engine {
namespace {

Partial empty(const Partial& like) { return {like.dtype(), like.precision(), like.needs(), like.cast_scale()}; }
PairPartial empty(const PairPartial& like) { return {like.dtype_a(), like.dtype_b(), like.tolerance()}; }

// A stream's length is not known before it ends.
constexpr std::uint64_t kUnknownBytes = std::uint64_t{1} << 40;

// A stream: the parts of one tensor go through a ring.
class Upload final : public DeviceStream {
 public:
  // `task` has no tensor yet: each part that is appended becomes its tensor.
  Upload(QueueContext& queue_context, std::unique_ptr<UploadRing> ring, const Task& task)
      : queue_context_(queue_context), ring_(std::move(ring)), task_(task) {}
  ~Upload() override {
    if (queue_context_.must_abandon()) abandon(std::move(ring_));
  }

  Status append(const Tensor& part) override {
    if (Status status = usable(); !status) return status;
    task_.operands[0] = part;
    Status status = ring_->add(task_, 0);
    if (status) status = ring_->release();
    task_.first_element += part.element_count;
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
  Task task_;
  std::uint64_t held_bytes_ = 0;
};

KernelKind kernel_for(const Errand& errand) {
  if (errand.beside) return {errand.dtype, kNothing, errand.beside};
  const auto needs = static_cast<Needs>(errand.wanted.needs & ~kDigests);
  return {errand.dtype, kernel_needs({errand.dtype, errand.wanted.precision, needs, errand.wanted.cast_scale})};
}

class OpenClEngine final : public DeviceEngine {
 public:
  OpenClEngine(std::unique_ptr<QueueContext> home, Ledger& ledger)
      : contexts_(std::make_unique<ContextSet>(std::move(home), ledger)) {}

  // A forked child cannot release the parent's OpenCL objects: it would wait for threads that do not exist there. While
  // exit() runs, the driver may be gone.
  ~OpenClEngine() override {
    if (home().must_abandon()) abandon(std::move(contexts_));
  }

  std::string_view name() const override { return "opencl"; }
  std::string description() const override {
    return home().device().info.platform_name + ": " + home().device().info.name;
  }
  bool shares_host_memory() const override { return home().device().shares_host_memory; }
  bool keeps_shared_memory() const override { return home().keeps_shared_memory(); }
  bool is_slower_than_host() const override { return home().device().is_slower_than_host; }
  Status check(const Tensor& tensor, KnownBuffer& known) const override { return home().check(tensor, known); }
  std::string refusal(const Tensor& tensor, Precision precision, KnownBuffer& known) const override {
    const auto context = contexts_->of(tensor, known);
    return context ? (*context)->refusal(tensor, precision) : context.error().message;
  }

  Result<std::uint64_t> fold_counting(std::span<const Job> jobs) override { return fold_all(jobs); }
  Result<std::uint64_t> compare(std::span<const PairJob> jobs) override { return fold_all(jobs); }

  std::string refusal(const TensorPair& pair, KnownBuffers& known) const override {
    const auto context = contexts_->of(std::array{pair.a, pair.b}, known);
    return context ? (*context)->refusal(pair) : context.error().message;
  }

  Result<std::unique_ptr<DeviceStream>> stream(Partial& partial) override {
    const Task task = task_of(Job{{.dtype = partial.dtype()}, &partial});
    if (Status status = home().prepare(task.kind); !status) return status.error();
    auto ring = UploadRing::open(home(), task.kind, kUnknownBytes, [&partial](const Batch& batch) {
      batch.merge_into([&](std::size_t) -> Partial& { return partial; });
    });
    if (!ring) return ring.error();
    return std::unique_ptr<DeviceStream>(std::make_unique<Upload>(home(), *std::move(ring), task));
  }

  Result<std::unique_ptr<DeviceBoard>> board(const Wanted& wanted) override {
    if (home().forked()) return QueueContext::forked_error();
    return Board::open(home(), wanted);
  }

  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) override {
    KnownBuffer known;
    const auto context = contexts_->of(tensor, known);
    if (!context) return context.error();
    Status status = (*context)->read(tensor, first, bytes);
    return status ? status : with_advice(std::move(status).error());
  }

 private:
  QueueContext& home() const { return contexts_->home(); }

  // The work for one context: pieces that the device reads in place, and the numbers of the jobs that are uploaded.
  struct Party {
    std::shared_ptr<QueueContext> context;
    std::vector<Piece> pieces{};
    std::vector<cl::Buffer> sources{};
    std::vector<std::size_t> uploads{};
  };

  template <typename AnyJob>
  Result<std::uint64_t> fold_all(std::span<const AnyJob> jobs) {
    if (home().forked()) return QueueContext::forked_error();
    std::vector<Party> parties;
    if (Status status = part(jobs, parties); !status) return status.error();
    std::uint64_t held_bytes = 0;
    if (parties.size() == 1 && parties[0].uploads.empty() &&
        parties[0].context->batch_length(parties[0].pieces) == parties[0].pieces.size()) {
      const auto merge = [&](const Batch& batch) {
        batch.merge_into([&](std::size_t job) -> auto& { return *jobs[job].partial; });
      };
      Status status = parties[0].context->fold_at_once(std::move(parties[0].pieces), std::move(parties[0].sources),
                                                       merge, held_bytes);
      if (!status) return with_advice(std::move(status).error());
      return held_bytes;
    }
    std::vector<std::remove_cvref_t<decltype(*jobs[0].partial)>> results;  // until all have succeeded
    results.reserve(jobs.size());
    for (const AnyJob& job : jobs) results.push_back(empty(*job.partial));
    const auto merge = [&](const Batch& batch) {
      batch.merge_into([&](std::size_t job) -> auto& { return results[job]; });
    };
    for (Party& party : parties) {
      Status status = party.context->fold(party.pieces, party.sources, merge, held_bytes);
      if (status) status = fold_uploaded(jobs, party, merge, held_bytes);
      if (!status) return with_advice(std::move(status).error());
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (Status status = jobs[i].partial->merge(results[i]); !status) return status.error();
    }
    return held_bytes;
  }

  // Sorts the jobs by context. A job that the device reads in place becomes pieces; any other goes to `uploads`.
  template <typename AnyJob>
  Status part(std::span<const AnyJob> jobs, std::vector<Party>& parties) const {
    std::uint64_t total_bytes = 0;
    KnownBuffers known;
    for (const AnyJob& job : jobs) total_bytes += job.bytes();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Task task = task_of(jobs[i]);
      if (task.count() == 0) continue;
      auto context = contexts_->of(task.tensors(), known);
      if (!context) return context.error();
      auto party = std::ranges::find(parties, *context, &Party::context);
      if (party == parties.end()) {
        party = parties.insert(party, {.context = *std::move(context)});
        party->pieces.reserve(jobs.size() - i);
      }
      // Packing many small tensors is faster than a buffer for each.
      const bool is_small = jobs.size() > 1 && jobs[i].bytes() < kWorthACommandBytes;
      const bool is_uploaded = std::ranges::any_of(task.tensors(), [&](const Tensor& tensor) {
        const bool is_packed = is_small && tensor.where != Where::kClBuffer && !party->context->follows(tensor);
        return is_packed || !party->context->in_place(tensor);
      });
      if (is_uploaded) {
        party->uploads.push_back(i);
        continue;
      }
      if (Status status = party->context->add(task, i, total_bytes, party->pieces, party->sources); !status)
        return status;
    }
    return {};
  }

  template <typename AnyJob>
  static Status fold_uploaded(std::span<const AnyJob> jobs, Party& party, const QueueContext::Merge& merge,
                              std::uint64_t& held_bytes) {
    if (party.uploads.empty()) return {};
    std::uint64_t total_bytes = 0;
    for (const std::size_t i : party.uploads) {
      const Task task = task_of(jobs[i]);
      total_bytes += jobs[i].bytes() + task.kind.tensors() * UploadRing::kSpacingBytes;
      // Kernels first, then the ring's memory: the check of a new kernel needs device memory, too.
      if (Status status = party.context->prepare(task.kind); !status) return status;
    }
    auto ring = UploadRing::open(*party.context, task_of(jobs[party.uploads[0]]).kind, total_bytes, merge);
    if (!ring) return ring.error();
    for (const std::size_t i : party.uploads) {
      if (Status status = (*ring)->add(task_of(jobs[i]), i); !status) return status;
    }
    Status status = (*ring)->finish();
    held_bytes = std::max(held_bytes, (*ring)->held_bytes());
    return status;
  }

  std::unique_ptr<ContextSet> contexts_;
};

}  // namespace
}  // namespace cl_engine

Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger,
                                                         const std::optional<Errand>& errand) {
  std::optional<cl_engine::KernelKind> soon;
  if (errand) soon = cl_engine::kernel_for(*errand);
  auto home = cl_engine::QueueContext::open(options, ledger, soon ? &*soon : nullptr);
  if (!home) return home.error();
  return std::unique_ptr<DeviceEngine>(std::make_unique<cl_engine::OpenClEngine>(*std::move(home), ledger));
}

}  // namespace tensorstat
