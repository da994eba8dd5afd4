#include <algorithm>
#include <optional>
#include <tensorstat/meter.hpp>
#include <utility>

#include "precision/sizes.h"
#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/engine/request_check.hpp"
#include "stats/core/meter/meter_state.hpp"
#include "stats/core/meter/request_batch.hpp"

namespace tensorstat {
struct Meter::Stream::State {
  State(std::shared_ptr<Meter::State> meter_state, Dtype dtype, const Request& asked)
      : meter(std::move(meter_state)), request(asked), wanted(wanted_by(asked)), intake(*meter, dtype, wanted) {}

  // Shared, because the stream may outlive its Meter.
  const std::shared_ptr<Meter::State> meter;
  const Request request;
  const Wanted wanted;
  Intake intake;
  Placement placement{false, "no elements"};
  std::unique_ptr<DeviceStream> uploads{};  // to a device that does not share the host's memory
  std::uint64_t held_bytes = 0;             // device memory for pieces that were folded there without a copy
  std::uint64_t last_elements = 0;          // in the piece before
  bool was_last = false;                    // whether the piece before was the last: it did not fill its last byte
  std::optional<Error> ended{};             // if set, every further call returns this

  Dtype dtype() { return intake.partial().dtype(); }

  // An error if the piece is invalid. The stream is unchanged then.
  Status check(std::span<const std::byte> piece, std::uint64_t unused) {
    if (unused >= elements_a_byte(dtype()) && unused != 0) {
      return Error{Code::kInvalid, "a byte of " + std::string(name(dtype())) + " cannot have " +
                                       std::to_string(unused) + " unused elements"};
    }
    if (unused > elements_of(dtype(), piece.size()))
      return Error{Code::kInvalid, "a piece has fewer elements than are unused"};
    if (was_last && !piece.empty()) {
      return Error{Code::kInvalid, "the piece before this one ended within a byte: it was the last"};
    }
    if (piece.size() % size_bytes(dtype()) != 0) {
      return Error{Code::kInvalid, "a piece of " + std::to_string(piece.size()) + " bytes is no whole number of " +
                                       std::string(name(dtype())) + " elements"};
    }
    if (piece.data() == nullptr && !piece.empty()) return Error{Code::kInvalid, "the address of a piece is null"};
    const bool in_tiles = wanted.partial && is_low(dtype(), wanted.precision);  // a tile must not be split
    if (in_tiles && !piece.empty() && last_elements % TILE != 0) {
      return Error{Code::kInvalid, "in `low` every piece but the last holds a multiple of " + std::to_string(TILE) +
                                       " elements; the one before this held " + std::to_string(last_elements)};
    }
    return {};
  }

  Status take(std::span<const std::byte> piece, std::uint64_t unused) {
    const Job job{
        {.dtype = dtype(), .element_count = elements_of(dtype(), piece.size()) - unused, .address = piece.data()},
        &intake.partial()};
    Placements placements(request, job.tensor.bytes(), *meter->host, meter->sight());
    const auto placed = placements.place(job.tensor);
    if (!placed) return placed.error();
    Placement now = std::move(placements.all()[*placed]);
    if (now.on_device && request.on == On::kDevice && !meter->device->shares_host_memory()) {
      if (Status status = upload(job.tensor); !status) return status;
    } else if (now.on_device) {
      const auto gave_up = meter->ended_on_device(meter->device->fold_counting({&job, 1}), request.on, held_bytes);
      if (!gave_up) return gave_up.error();
      if (!gave_up->empty()) now = {false, *gave_up};
    }
    if (Status status = intake.take(piece, job.tensor.element_count, now.on_device); !status) return status;
    was_last = unused != 0;
    placement = std::move(now);
    placement.device_bytes = held_bytes;
    last_elements = job.tensor.element_count;
    return {};
  }

  // The device folds pieces while later ones are uploaded. Used only if the caller insists on the device: an earlier
  // piece is gone and could not be folded again on the host.
  Status upload(const Tensor& piece) {
    if (!uploads) {
      auto begun = meter->device->stream(intake.partial());
      if (!begun) return begun.error();
      uploads = *std::move(begun);
    }
    return heeded(uploads->append(piece));
  }

  Status heeded(Status status) const {
    if (!status) meter->heed(status.error());
    return status;
  }

  // Ends the stream: every further call returns `why`.
  void end(const Error& why) noexcept {
    try {
      ended = why;
    } catch (...) {
      ended = out_of_memory();
    }
  }

  // Ends the input. Afterwards everything is in the partial.
  Status close() {
    if (ended) return *ended;
    end({Code::kInvalid, "the stream has been finished"});
    if (!uploads) return {};
    Status status = heeded(uploads->finish());
    placement.device_bytes = std::max(held_bytes, uploads->held_bytes());
    return status;
  }
};

Meter::Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Meter::Stream::Stream(Stream&&) noexcept = default;
Meter::Stream& Meter::Stream::operator=(Stream&&) noexcept = default;
Meter::Stream::~Stream() = default;

Result<Meter::Stream> Meter::stream(Dtype dtype, const Request& request) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  if (Status status = check({.dtype = dtype}); !status) return std::move(status).error();
  if (Status status = check(request, dtype); !status) return std::move(status).error();
  return Stream(std::make_unique<Stream::State>(state_, dtype, request));
} catch (...) {
  return caught();
}

Status Meter::Stream::append(std::span<const std::byte> whole_elements, std::uint64_t unused) {
  const FloatEnvironment ieee;
  try {
    if (state_->ended) return *state_->ended;
    if (Status status = state_->check(whole_elements, unused); !status || whole_elements.empty()) return status;
  } catch (...) {
    return caught();
  }
  // From here on an error may leave a part of the piece taken, so it ends the stream.
  Status status;
  try {
    status = state_->take(whole_elements, unused);
  } catch (...) {
    status = caught();
  }
  if (!status) state_->end(status.error());
  return status;
}

Result<Measurements> Meter::Stream::finish() try {
  const FloatEnvironment ieee;
  if (Status status = state_->close(); !status) return std::move(status).error();
  auto result = Measurements::State::make(state_->request.categories, state_->wanted.needs, 1);
  result->put(0, state_->dtype(), state_->intake.finish(), state_->wanted);
  result->set_placement(state_->meter->placed(state_->placement));
  return Measurements(std::move(result));
} catch (...) {
  return caught();
}

Result<Partial> Meter::Stream::finish_partial() try {
  const FloatEnvironment ieee;
  if (state_->ended) return *state_->ended;
  if (Status status = check_mergeable(state_->request); !status) return std::move(status).error();
  if (Status status = state_->close(); !status) return std::move(status).error();
  return std::move(state_->intake.partial());
} catch (...) {
  return caught();
}

}  // namespace tensorstat
