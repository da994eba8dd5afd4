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
  std::unique_ptr<DeviceBoard> device;  // null if the meter has no queue
  std::unique_ptr<DeviceBoard> gpus;
};

struct BoardTicket::State {
  std::shared_ptr<Board::State> board;  // outlives the step
  DeviceBoard::Fold fold;
  Dtype dtype;
  bool on_gpu;
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
  results->set_placement({state_->on_gpu ? GpuFolder::kName : "opencl",
                          state_->on_gpu ? "folded on its stream" : "folded behind its queue",
                          state_->fold.step->held_bytes()});
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
  auto made =
      std::make_shared<State>(State{meter.state_, request, wanted, {}, meter.state_->gpu_folder->board(wanted)});
  if (meter.state_->options.queue == nullptr) return Board(std::move(made));
  DeviceEngine* const engine = meter.state_->find_device();
  if (engine == nullptr) return Error{Code::kDevice, meter.state_->trouble()};
  auto device = engine->board(wanted);
  if (!device) return device.error();
  made->device = *std::move(device);
  return Board(std::move(made));
} catch (...) {
  return caught();
}

Result<BoardTicket> Board::fold(const Tensor& tensor) try {
  const FloatEnvironment ieee;
  if (Status status = check(tensor); !status) return std::move(status).error();
  if (Status status = check(state_->request, tensor.dtype); !status) return std::move(status).error();
  const bool on_gpu = is_in_gpu_memory(tensor.where);
  if (!on_gpu && tensor.where != Where::kClBuffer) {
    return Error{Code::kUnsupported, "only a tensor in a cl_mem or in a GPU's memory can be folded on a board"};
  }
  if (!on_gpu && !state_->device) {
    return Error{Code::kUnsupported, "a Board of a tensor in a cl_mem requires MeterOptions::queue"};
  }
  if (!on_gpu && state_->meter->find_device() == nullptr) return Error{Code::kDevice, state_->meter->trouble()};
  auto ticket = std::make_unique<BoardTicket::State>(BoardTicket::State{state_, {}, tensor.dtype, on_gpu});
  auto fold = (on_gpu ? state_->gpus : state_->device)->fold(tensor);
  if (!fold) {
    state_->meter->heed(fold.error());
    return std::move(fold).error();
  }
  ticket->fold = *std::move(fold);
  return BoardTicket(std::move(ticket));
} catch (...) {
  return caught();
}

void Board::end_step() {
  if (state_->device) state_->device->end_step();
  state_->gpus->end_step();
}

}  // namespace tensorstat
