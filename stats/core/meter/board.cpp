#include <tensorstat/opencl.hpp>
#include <utility>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/engine/request_check.hpp"
#include "stats/core/meter/meter_state.hpp"

namespace tensorstat {

struct Board::State {
  std::shared_ptr<Meter::State> meter;  // destroyed last: it has the device
  Request request;
  Wanted wanted;
  std::unique_ptr<DeviceBoard> device;
};

struct BoardTicket::State {
  std::shared_ptr<Board::State> board;  // outlives the step
  DeviceBoard::Fold fold;
  Dtype dtype;
};

BoardTicket::BoardTicket(std::unique_ptr<State> state) : state_(std::move(state)) {}
BoardTicket::BoardTicket(BoardTicket&&) noexcept = default;
BoardTicket& BoardTicket::operator=(BoardTicket&&) noexcept = default;
BoardTicket::~BoardTicket() = default;

Result<Measurements> BoardTicket::collect() const try {
  const FloatEnvironment ieee;
  const Board::State& board = *state_->board;
  if (Status status = state_->fold.step->wait(); !status) {
    board.meter->heed(status.error());
    return std::move(status).error();
  }
  Partial partial(state_->dtype, board.wanted.precision, board.wanted.needs, board.wanted.cast_scale);
  if (Status status = state_->fold.step->merge_into(state_->fold.number, partial); !status) return status.error();
  auto results = Measurements::State::make(board.request.categories, board.wanted.needs, 1);
  results->put(0, state_->dtype, {.words = partial.words(), .bins = {.kept = partial.bins()}}, board.wanted);
  results->set_placement({"opencl", "folded behind its queue", state_->fold.step->held_bytes()});
  return Measurements(std::move(results));
} catch (...) {
  return caught();
}

Board::Board(std::shared_ptr<State> state) : state_(std::move(state)) {}
Board::Board(Board&&) noexcept = default;
Board& Board::operator=(Board&&) noexcept = default;
Board::~Board() = default;

Result<Board> Board::on(Meter& meter, const Request& request) try {
  const FloatEnvironment ieee;
  if (!meter.state_) return out_of_memory();
  if (request.on == On::kHost) return Error{Code::kInvalid, "a Board folds on the device; `host` was asked for"};
  if (Status status = check(request); !status) return std::move(status).error();
  const Wanted wanted = wanted_by(request);
  if ((wanted.needs & (kDigests | kQuantiles)) != 0) {
    return Error{Code::kUnsupported, "a Board holds no digests and no quantiles"};
  }
  if (meter.state_->options.queue == nullptr) {
    return Error{Code::kUnsupported, "a Board requires MeterOptions::queue"};
  }
  DeviceEngine* const engine = meter.state_->find_device();
  if (engine == nullptr) return Error{Code::kDevice, meter.state_->trouble()};
  auto device = engine->board(wanted);
  if (!device) return device.error();
  return Board(std::make_shared<State>(State{meter.state_, request, wanted, *std::move(device)}));
} catch (...) {
  return caught();
}

Result<BoardTicket> Board::fold(const Tensor& tensor) try {
  const FloatEnvironment ieee;
  if (Status status = check(tensor); !status) return std::move(status).error();
  if (Status status = check(state_->request, tensor.dtype); !status) return std::move(status).error();
  if (tensor.where != Where::kClBuffer) {
    return Error{Code::kUnsupported, "only a tensor in a cl_mem can be folded on a board"};
  }
  if (state_->meter->find_device() == nullptr) return Error{Code::kDevice, state_->meter->trouble()};
  auto ticket = std::make_unique<BoardTicket::State>(BoardTicket::State{state_, {}, tensor.dtype});
  auto fold = state_->device->fold(tensor);
  if (!fold) {
    state_->meter->heed(fold.error());
    return std::move(fold).error();
  }
  ticket->fold = *std::move(fold);
  return BoardTicket(std::move(ticket));
} catch (...) {
  return caught();
}

void Board::end_step() { state_->device->end_step(); }

}  // namespace tensorstat
