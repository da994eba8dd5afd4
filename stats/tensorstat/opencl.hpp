// SPDX-License-Identifier: Apache-2.0
// Measures tensors in OpenCL memory on the caller's queue, without blocking the caller.
//
//   auto meter = tensorstat::DeviceMeter::on(queue);                        // a cl_command_queue
//   auto ticket = meter->submit(tensors, {.categories = *categories_from("max,l2norm")}, {&written, 1});
//   ...                                                                     // the next training step
//   auto rows = ticket->collect();                                          // waits only if it must
//
// OpenCL handles are opaque pointers here, so this header includes no OpenCL header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

namespace tensorstat {

// A batch under way. The destructor waits until the device has written all results; after a failed call at most a
// minute. Even then, keep the tensors until `event` has completed.
class Ticket {
 public:
  Ticket(Ticket&&) noexcept;
  Ticket& operator=(Ticket&&) noexcept;
  ~Ticket();

  // A cl_event that completes when the results are on the host. After that the tensors may change. The ticket owns a
  // reference; retain the event to keep it longer than the ticket. Its callback must not collect or destroy the ticket:
  // OpenCL forbids to wait there. Let it wake a thread that does.
  void* event() const;

  // Returns one Measurement for each tensor, in order. Waits for this batch only. After an error of the device, a Meter
  // can still measure the tensors on the host while they are unchanged. After any error of this or of `submit`, except
  // Code::kInUse, nothing reads the tensors any more (see Meter::measure). A ticket is collected once, by this or by
  // collect_partials(); a second call is an error.
  Result<Measurements> collect();
  // As collect(), but returns Partials; see Meter::fold().
  Result<std::vector<Partial>> collect_partials();

 private:
  friend class DeviceMeter;
  struct State;
  explicit Ticket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A Ticket for pairs of tensors (<tensorstat/pair.hpp>).
class PairTicket {
 public:
  PairTicket(PairTicket&&) noexcept;
  PairTicket& operator=(PairTicket&&) noexcept;
  ~PairTicket();

  void* event() const;  // as Ticket::event()
  // Returns one PairPartial for each pair, in order. Errors are Ticket::collect()'s. A second call is an error.
  Result<std::vector<PairPartial>> collect();

 private:
  friend class DeviceMeter;
  struct State;
  explicit PairTicket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Thread-safe. Any number of batches may be in flight. Allocates no device memory for tensors, and reuses the memory of
// completed batches of the same size.
class DeviceMeter {
 public:
  // Works on a cl_command_queue, in-order or out-of-order, which it retains, in the queue's context and on its device.
  // All batches in flight together take at most `budget_bytes` of device memory; nullopt: no limit.
  static Result<DeviceMeter> on(void* queue, std::optional<std::uint64_t> budget_bytes = std::nullopt);
  DeviceMeter(DeviceMeter&&) noexcept;
  DeviceMeter& operator=(DeviceMeter&&) noexcept;
  ~DeviceMeter();

  // Enqueues the batch after the cl_events of `wait_list` and flushes the queue: one upload, one launch for each dtype
  // and cl_mem, one launch for each dtype of the other tensors, one read-back. Does not wait, except that the first
  // batch of a dtype and its categories builds and probes a kernel. Each tensor is a cl_mem (Where::kClBuffer), shared
  // virtual memory, or, on a device that follows the host's pointers, host memory. It must not change until the
  // ticket's event has completed. A device that shares the host's address space needs no upload, no read-back and no
  // memory, except up to 2 MiB a tensor for quantiles. Errors: digests, On::kHost, a batch that exceeds the budget, and
  // what Meter::measure() refuses.
  Result<Ticket> submit(std::span<const Tensor> tensors, const Request& request, std::span<void* const> wait_list = {});

  // As submit(), for pairs: one launch for each combination of two dtypes and two cl_mems. Errors: those of
  // Meter::compare(), and a device without fp64.
  Result<PairTicket> compare(std::span<const TensorPair> pairs, const PairRequest& request = {},
                             std::span<void* const> wait_list = {});

  MemoryUse device_memory() const;

 private:
  struct State;
  explicit DeviceMeter(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
  friend class Ticket;
  friend class PairTicket;
};

// A fold that was enqueued by Board::fold().
class BoardTicket {
 public:
  BoardTicket(BoardTicket&&) noexcept;
  BoardTicket& operator=(BoardTicket&&) noexcept;
  ~BoardTicket();

  // Returns one Measurement. Waits for the copy of its step, and no longer. kInvalid before Board::end_step(). kDevice:
  // the device failed; this fold has no values, or no fold of its step has. kInUse: as from Meter::measure(). May be
  // called again, and from several threads.
  Result<Measurements> collect() const;

 private:
  friend class Board;
  friend class BoardGraph;
  struct State;
  explicit BoardTicket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The statistics of the tensors of a training step, without a wait. fold() enqueues one launch, behind what the queue
// holds, or the stream of a tensor in CUDA's memory. The partials stay on the device. end_step() enqueues one copy of
// all of them to the host. Tickets are collected later, on any thread.
//
//   Meter meter({.queue = queue});
//   auto board = Board::on(meter, {.categories = *categories_from("max,l2norm")});
//   auto ticket = board->fold(tensor);   // each tensor of the step; the next command of the queue may overwrite it
//   board->end_step();
//   ...                                  // the next step
//   auto rows = ticket->collect();
//
// A step takes the memory of an earlier one when all tickets of that are gone. A tensor of the same dtype, offset and
// length as one of that step takes a launch and nothing else. A step holds at most 64 MiB, some hundred bytes a tensor;
// they count against the Meter's budget, except where the device works in the host's address space.
//
// Thread-safe. May outlive the Meter, and tickets may outlive the Board.
class Board {
 public:
  // For tensors in a cl_mem `meter` has MeterOptions::queue, and that queue is in order: its device is opened. Tensors
  // in CUDA's memory need no queue. kUnsupported: the queue is out of order; digests and quantiles, which a board does
  // not hold. kInvalid: the request; On::kHost. kDevice: no device for the queue.
  static Result<Board> on(Meter& meter, const Request& request);
  Board(Board&&) noexcept;
  Board& operator=(Board&&) noexcept;
  ~Board();

  // Enqueues the fold of a tensor in a cl_mem of the queue's context. Commands that come behind it in the queue may
  // overwrite or release the cl_mem; what is not behind it must leave the tensor alone until the ticket is collected.
  // A tensor in CUDA's memory is folded on Tensor::stream: the same holds for the work of this stream, which the board
  // does not use after fold() has returned. The first fold of a dtype builds and probes a kernel, and waits for that;
  // so may a fold that needs memory which no step had. After an error nothing is enqueued that a ticket would show, and
  // Meter::measure() can measure the tensor. kUnsupported: a cl_mem of another context, or without a queue; a stream
  // that is being captured; memory of ROCm. kOverBudget: the budget, or the step is full. kDevice: no kernel can be
  // made, or a call failed.
  Result<BoardTicket> fold(const Tensor& tensor);
  // Enqueues the copies and flushes the queue. Later folds belong to the next step.
  void end_step();

 private:
  struct State;
  explicit Board(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
  friend class BoardTicket;
  friend class BoardGraph;
};

// The statistics of the tensors in a CUDA graph, for each of its replays. fold() adds a kernel to the graph that is
// being captured. A replay empties the results first, so it may be left unread.
//
//   auto graph = BoardGraph::on(meter, {.categories = *categories_from("max,l2norm")});
//   cuStreamBeginCapture(stream, mode);
//   graph->fold(tensor);                      // tensor.stream is `stream`, or another one of this capture
//   cuStreamEndCapture(stream, &captured);
//   cuGraphLaunch(executable, stream);
//   auto tickets = graph->replayed(stream);   // in the order of the folds
//
// Keep it for as long as the graph may be replayed: replays write to its memory, at most 64 MiB. It goes back with the
// Meter, and not before. Thread-safe. May outlive the Meter, and tickets may outlive it.
class BoardGraph {
 public:
  // For one graph. Errors: those of Board::on().
  static Result<BoardGraph> on(Meter& meter, const Request& request);
  BoardGraph(BoardGraph&&) noexcept;
  BoardGraph& operator=(BoardGraph&&) noexcept;
  ~BoardGraph();

  // Adds the fold of a tensor in CUDA's memory whose stream is being captured. Allocates memory and, for the first
  // tensor of a dtype, makes a kernel, in a way that no capture forbids. Never waits for the captured work. After an
  // error no result is expected. kInvalid: the stream is not being captured. kUnsupported: it is captured into another
  // graph, or the tensor is on another GPU. The rest as of Board::fold().
  Status fold(const Tensor& tensor);
  // Enqueues the copy of the results on the stream, behind a replay. Call it before the next replay, which is ordered
  // behind the copy. Returns one ticket for each fold. kOverBudget: 64 replays have tickets.
  Result<std::vector<BoardTicket>> replayed(void* stream);

 private:
  struct State;
  explicit BoardGraph(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// The speed of a device on its own memory. It tells whether using the device is worthwhile.
struct DeviceSpeed {
  double measured_gb_per_s = 0;  // statistics of one float32 tensor in device memory, from submit() to the values
  double read_gb_per_s = 0;      // a kernel that only reads the same bytes
};
// Medians of several rounds, in which both measurements alternate, on the device that `options` names. `bytes` is the
// tensor's size, a multiple of 4096; as much device memory is allocated. Takes up to seconds. Errors as of a
// DeviceMeter.
Result<DeviceSpeed> device_speed(const MeterOptions& options, std::uint64_t bytes = std::uint64_t{64} << 20);

// If list_devices() is empty: the likely reason, and what to install.
std::string why_no_device();

}  // namespace tensorstat
