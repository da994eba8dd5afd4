#include <tensorstat/opencl.hpp>
#include <utility>

#include "kernels-cl/launch/context_set.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "stats/core/base/abandon.hpp"
#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/ledger.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/engine/request_check.hpp"

namespace tensorstat {

using cl_engine::Batch;
using cl_engine::QueueContext;

struct DeviceMeter::State {
  explicit State(std::optional<std::uint64_t> budget_bytes) : ledger(budget_bytes) {}
  // A forked child cannot release the parent's OpenCL objects.
  ~State() {
    if (queue_context && queue_context->must_abandon()) abandon(std::move(queue_context));
  }

  Ledger ledger;
  std::unique_ptr<QueueContext> queue_context;
};

namespace {

// A batch under way, and the partials that it will be merged into.
template <typename Owner, typename PartialType>
struct Underway {
  explicit Underway(std::shared_ptr<Owner> meter) : owner(std::move(meter)) {}
  ~Underway() {
    if (owner->queue_context->must_abandon()) abandon(std::move(batch));
  }

  // Waits for the batch and merges it into the partials. May be called once.
  Status close() {
    if (std::exchange(collected, true)) return Error{Code::kInvalid, "this ticket has been collected"};
    if (owner->queue_context->forked()) {
      return Error{Code::kDevice, "the process has forked since the batch was submitted"};
    }
    Status status = batch->collect(std::span(partials));
    return status ? status : cl_engine::with_advice(std::move(status).error());
  }

  // Enqueues the jobs behind the events. The results go into `partials`.
  template <typename AnyJob>
  Status enqueue(std::span<const AnyJob> jobs, std::span<void* const> wait_list) {
    QueueContext& queue_context = *owner->queue_context;
    std::uint64_t total_bytes = 0;
    for (const AnyJob& job : jobs) total_bytes += job.bytes();
    std::vector<cl_engine::Piece> pieces;
    std::vector<cl::Buffer> sources;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Status status = queue_context.add(cl_engine::task_of(jobs[i]), i, total_bytes, pieces, sources);
      if (!status) return status;
    }
    std::vector<cl_event> events;
    for (void* const event : wait_list) events.push_back(static_cast<cl_event>(event));
    auto enqueued = queue_context.enqueue(queue_context.queue(), std::move(pieces), std::move(sources), events);
    if (!enqueued) return cl_engine::with_advice(enqueued.error());
    batch = *std::move(enqueued);
    return {};
  }

  std::shared_ptr<Owner> owner;  // destroyed last
  std::vector<PartialType> partials;
  std::unique_ptr<Batch> batch;
  bool collected = false;
};

// An error if nothing can be submitted.
Status check(const QueueContext& queue_context, On on) {
  if (on == On::kHost) return Error{Code::kInvalid, "a submitted batch runs on the device; `host` was asked for"};
  if (queue_context.forked()) return QueueContext::forked_error();
  return {};
}

// An error if the queue's device cannot read a tensor in place, or if the tensor reaches beyond its cl_mem. `refusal`:
// why the device cannot fold it; empty if it can.
Status check_in_place(const QueueContext& queue_context, const Tensor& tensor, std::string refusal, KnownBuffer& known,
                      const std::string& name) {
  if (refusal.empty() && !queue_context.in_place(tensor))
    refusal = "it is in host memory, which the device does not share";
  if (!refusal.empty()) return Error{Code::kUnsupported, name + " cannot be submitted: " + refusal};
  if (Status status = cl_engine::check_context(queue_context, tensor, known); !status) {
    return Error{status.error().code, name + " cannot be submitted: " + status.error().message};
  }
  return queue_context.check(tensor, known);
}

}  // namespace

struct Ticket::State : Underway<DeviceMeter::State, Partial> {
  using Underway::Underway;
  Request request;
};

struct PairTicket::State : Underway<DeviceMeter::State, PairPartial> {
  using Underway::Underway;
};

Ticket::Ticket(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ticket::Ticket(Ticket&&) noexcept = default;
Ticket& Ticket::operator=(Ticket&&) noexcept = default;
Ticket::~Ticket() = default;

void* Ticket::event() const { return state_->batch->event(); }

Result<Measurements> Ticket::collect() try {
  const FloatEnvironment ieee;
  if (Status status = state_->close(); !status) return std::move(status).error();
  const Wanted wanted{state_->request.precision, needs(state_->request.categories, state_->request.precision), true,
                      state_->request.cast_scale};
  auto results = Measurements::State::make(state_->request.categories, wanted.needs, state_->partials.size());
  for (std::size_t i = 0; i < state_->partials.size(); ++i) {
    const Partial& partial = state_->partials[i];
    results->put(i, partial.dtype(), {.words = partial.words(), .bins = {.kept = partial.bins()}}, wanted);
  }
  results->set_placement({"opencl", "submitted to its queue", state_->batch->device_bytes()});
  return Measurements(std::move(results));
} catch (...) {
  return caught();
}

Result<std::vector<Partial>> Ticket::collect_partials() try {
  const FloatEnvironment ieee;
  if (Status status = state_->close(); !status) return std::move(status).error();
  return std::move(state_->partials);
} catch (...) {
  return caught();
}

PairTicket::PairTicket(std::unique_ptr<State> state) : state_(std::move(state)) {}
PairTicket::PairTicket(PairTicket&&) noexcept = default;
PairTicket& PairTicket::operator=(PairTicket&&) noexcept = default;
PairTicket::~PairTicket() = default;

void* PairTicket::event() const { return state_->batch->event(); }

Result<std::vector<PairPartial>> PairTicket::collect() try {
  const FloatEnvironment ieee;
  if (Status status = state_->close(); !status) return std::move(status).error();
  return std::move(state_->partials);
} catch (...) {
  return caught();
}

DeviceMeter::DeviceMeter(std::shared_ptr<State> state) : state_(std::move(state)) {}
DeviceMeter::DeviceMeter(DeviceMeter&&) noexcept = default;
DeviceMeter& DeviceMeter::operator=(DeviceMeter&&) noexcept = default;
DeviceMeter::~DeviceMeter() = default;

MemoryUse DeviceMeter::device_memory() const { return state_->ledger.use(); }

Result<DeviceMeter> DeviceMeter::on(void* queue, std::optional<std::uint64_t> budget_bytes) try {
  const FloatEnvironment ieee;
  if (queue == nullptr) return Error{Code::kInvalid, "DeviceMeter needs a cl_command_queue; got null"};
  auto state = std::make_shared<State>(budget_bytes);
  MeterOptions options;
  options.queue = queue;
  auto queue_context = QueueContext::open(options, state->ledger);
  if (!queue_context) return queue_context.error();
  state->queue_context = *std::move(queue_context);
  return DeviceMeter(std::move(state));
} catch (...) {
  return caught();
}

Result<Ticket> DeviceMeter::submit(std::span<const Tensor> tensors, const Request& request,
                                   std::span<void* const> wait_list) try {
  const FloatEnvironment ieee;
  QueueContext& queue_context = *state_->queue_context;
  if (Status status = check(queue_context, request.on); !status) return std::move(status).error();
  if (Status status = check(tensors, request); !status) return std::move(status).error();
  const Needs wanted = needs(request.categories, request.precision);
  if ((wanted & kDigests) != 0) return Error{Code::kUnsupported, "digests (md5, hash) run on the host only; use Meter"};
  auto state = std::make_unique<Ticket::State>(state_);
  state->request = request;
  state->partials.reserve(tensors.size());
  std::vector<Job> jobs;
  jobs.reserve(tensors.size());
  KnownBuffer known;
  for (const Tensor& tensor : tensors) {
    Status status = check_in_place(queue_context, tensor, queue_context.refusal(tensor, request.precision), known,
                                   "tensor " + std::to_string(jobs.size()));
    if (!status) return std::move(status).error();
    state->partials.emplace_back(tensor.dtype, request.precision, wanted, request.cast_scale);
    jobs.push_back({tensor, &state->partials.back()});
  }
  if (Status status = state->enqueue(std::span<const Job>(jobs), wait_list); !status) return status.error();
  return Ticket(std::move(state));
} catch (...) {
  return caught();
}

Result<PairTicket> DeviceMeter::compare(std::span<const TensorPair> pairs, const PairRequest& request,
                                        std::span<void* const> wait_list) try {
  const FloatEnvironment ieee;
  QueueContext& queue_context = *state_->queue_context;
  if (Status status = check(queue_context, request.on); !status) return std::move(status).error();
  if (Status status = check(pairs, request); !status) return std::move(status).error();
  auto state = std::make_unique<PairTicket::State>(state_);
  state->partials.reserve(pairs.size());
  std::vector<PairJob> jobs;
  jobs.reserve(pairs.size());
  KnownBuffers known;
  for (const TensorPair& pair : pairs) {
    const std::string name = "pair " + std::to_string(jobs.size());
    const std::string refusal = queue_context.refusal(pair);
    Status status = check_in_place(queue_context, pair.a, refusal, known[0], name);
    if (status) status = check_in_place(queue_context, pair.b, refusal, known[1], name);
    if (!status) return std::move(status).error();
    state->partials.emplace_back(pair.a.dtype, pair.b.dtype, request.tolerance);
    jobs.push_back({pair, request.first_index, &state->partials.back()});
  }
  if (Status status = state->enqueue(std::span<const PairJob>(jobs), wait_list); !status) return status.error();
  return PairTicket(std::move(state));
} catch (...) {
  return caught();
}

}  // namespace tensorstat
