#include <mutex>
#include <tensorstat/opencl.hpp>
#include <utility>
#include <vector>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/engine/request_check.hpp"
#include "stats/core/meter/meter_state.hpp"

namespace tensorstat {

// What a board and a graph are asked for.
struct Board::State {
  static Result<std::shared_ptr<State>> make(Meter& meter, const Request& request);

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

Result<std::shared_ptr<Board::State>> Board::State::make(Meter& meter, const Request& request) {
  if (!meter.state_) return out_of_memory();
  if (request.on == On::kHost) return Error{Code::kInvalid, "a Board folds on the device; `host` was asked for"};
  if (Status status = check(request); !status) return std::move(status).error();
  const Wanted wanted = wanted_by(request);
  if ((wanted.needs & (kDigests | kQuantiles)) != 0) {
    return Error{Code::kUnsupported, "a Board holds no digests and no quantiles"};
  }
  return std::make_shared<State>(State{meter.state_, request, wanted, {}, {}});
}

Result<Board> Board::on(Meter& meter, const Request& request) try {
  const FloatEnvironment ieee;
  auto prepared = State::make(meter, request);
  if (!prepared) return prepared.error();
  auto made = *std::move(prepared);
  made->gpus = meter.state_->gpu_folder->board(made->wanted);
  if (meter.state_->options.queue == nullptr) return Board(std::move(made));
  DeviceEngine* const engine = meter.state_->find_device();
  if (engine == nullptr) return Error{Code::kDevice, meter.state_->trouble()};
  auto device = engine->board(made->wanted);
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

struct BoardGraph::State {
  struct Folded {
    std::size_t number;
    Dtype dtype;
  };
  std::shared_ptr<Board::State> asked;  // destroyed last: it has the meter
  std::shared_ptr<DeviceGraph> graph;
  std::mutex mutex{};
  std::vector<Folded> folds{};
};

BoardGraph::BoardGraph(std::shared_ptr<State> state) : state_(std::move(state)) {}
BoardGraph::BoardGraph(BoardGraph&&) noexcept = default;
BoardGraph& BoardGraph::operator=(BoardGraph&&) noexcept = default;
BoardGraph::~BoardGraph() = default;

Result<BoardGraph> BoardGraph::on(Meter& meter, const Request& request) try {
  const FloatEnvironment ieee;
  auto asked = Board::State::make(meter, request);
  if (!asked) return asked.error();
  auto made = std::make_shared<State>();
  made->asked = *std::move(asked);
  made->graph = made->asked->meter->gpu_folder->graph(made->asked->wanted);
  return BoardGraph(std::move(made));
} catch (...) {
  return caught();
}

Status BoardGraph::fold(const Tensor& tensor) try {
  const FloatEnvironment ieee;
  if (Status status = check(tensor); !status) return status;
  if (Status status = check(state_->asked->request, tensor.dtype); !status) return status;
  if (tensor.where != Where::kCuda) {
    return Error{Code::kUnsupported, "only a tensor in CUDA's memory can be folded in a graph"};
  }
  const std::lock_guard lock(state_->mutex);
  state_->folds.reserve(state_->folds.size() + 1);
  const auto number = state_->graph->fold(tensor);
  if (!number) return number.error();
  state_->folds.push_back({*number, tensor.dtype});
  return {};
} catch (...) {
  return caught();
}

Result<std::vector<BoardTicket>> BoardGraph::replayed(void* stream) try {
  const FloatEnvironment ieee;
  const std::lock_guard lock(state_->mutex);
  auto step = state_->graph->replayed(stream);
  if (!step) return step.error();
  // The graph's memory outlives the tickets.
  std::vector<BoardTicket> tickets;
  tickets.reserve(state_->folds.size());
  for (const State::Folded& each : state_->folds) {
    tickets.push_back(BoardTicket(std::make_unique<BoardTicket::State>(
        BoardTicket::State{state_->asked, {*step, each.number}, each.dtype, true})));
  }
  return tickets;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
