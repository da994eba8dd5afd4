#include <tensorstat/meter.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "stats/core/measured.hpp"
#include "stats/core/meter_state.hpp"
#include "stats/core/request_batch.hpp"

namespace tensorstat {
namespace {

Error out_of_memory() { return {Code::kInvalid, "out of host memory"}; }

}  // namespace

Meter::Meter(MeterOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Meter::~Meter() = default;

Status Meter::read(const Tensor& tensor, std::uint64_t first_byte, std::span<std::byte> bytes) {
  if (tensor.strides != nullptr) {
    state_->host->gather(tensor, first_byte / size_bytes(tensor.dtype), bytes);
    return {};
  }
  if (tensor.where != Where::kClBuffer) {
    const auto* from = static_cast<const std::byte*>(tensor.address) + tensor.offset_bytes + first_byte;
    std::copy_n(from, bytes.size(), bytes.begin());
    return {};
  }
  if (Status status = state_->may_read_device(); !status) return status;
  return state_->device->read(tensor, first_byte, bytes);
}

MemoryUse Meter::device_memory() const { return state_->ledger.use(); }

Result<Measurements> Meter::measure(std::span<const Tensor> tensors, const Request& request) try {
  return RequestBatch(*state_, tensors, request).measure();
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

struct Meter::Stream::State {
  State(Meter::State& of, Dtype dtype, const Request& asked)
      : meter(of),
        request(asked),
        wanted{asked.precision, needs(asked.categories, asked.precision)},
        intake(of, dtype, wanted) {}

  Meter::State& meter;
  const Request request;
  const Wanted wanted;
  Intake intake;
  Placement placement{false, "no elements"};
  std::unique_ptr<DeviceStream> uploads{};  // to a device that does not share the host's memory

  // On such a device pieces are folded while later ones arrive. Only a caller who insists on it comes here:
  // a piece that was let go of cannot be folded again on the host.
  Status upload(const Tensor& piece) {
    if (!uploads) {
      auto begun = meter.device->stream(intake.partial());
      if (!begun) return begun.error();
      uploads = *std::move(begun);
    }
    return uploads->append(piece);
  }
};

Meter::Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Meter::Stream::Stream(Stream&&) noexcept = default;
Meter::Stream& Meter::Stream::operator=(Stream&&) noexcept = default;
Meter::Stream::~Stream() = default;

Result<Meter::Stream> Meter::stream(Dtype dtype, const Request& request) try {
  return Stream(std::make_unique<Stream::State>(*state_, dtype, request));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Status Meter::Stream::append(std::span<const std::byte> whole_elements) try {
  Meter::State& meter = state_->meter;
  const Dtype dtype = state_->intake.partial().dtype();
  if (whole_elements.size() % size_bytes(dtype) != 0) {
    return Error{Code::kInvalid, "a piece of " + std::to_string(whole_elements.size()) +
                                     " bytes is no whole number of " + std::string(name(dtype)) + " elements"};
  }
  const Job job{{.dtype = dtype,
                 .element_count = whole_elements.size() / size_bytes(dtype),
                 .address = whole_elements.data()},
                &state_->intake.partial()};
  Placements placements(state_->request, job.tensor.bytes(), *meter.host, meter.sight());
  const auto placed = placements.place(job.tensor);
  if (!placed) return placed.error();
  Placement placement = std::move(placements.all()[*placed]);
  if (placement.on_device && state_->request.on == On::kDevice && !meter.device->shares_host_memory()) {
    if (Status status = state_->upload(job.tensor); !status) return status;
  } else if (placement.on_device) {
    const auto gave_up = meter.fold_on_device({&job, 1}, state_->request.on);
    if (!gave_up) return gave_up.error();
    if (!gave_up->empty()) placement = {false, *gave_up};
  }
  if (Status status = state_->intake.take(whole_elements, placement.on_device); !status) return status;
  state_->placement = std::move(placement);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<Measurements> Meter::Stream::finish() try {
  if (state_->uploads) {
    if (Status status = state_->uploads->finish(); !status) return status.error();
  }
  auto result = std::make_unique<Measurements::State>(state_->request.categories, 1);
  result->put(0, state_->intake.partial().dtype(), state_->intake.finish(), state_->wanted);
  result->place({state_->meter.placed(state_->placement)}, {});
  return Measurements(std::move(result));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
