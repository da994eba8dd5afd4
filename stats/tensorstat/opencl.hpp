// SPDX-License-Identifier: Apache-2.0
// Tensors in OpenCL memory, measured on the caller's queue without waiting for them.
//
//   auto meter = tensorstat::DeviceMeter::on(queue);                        // a cl_command_queue
//   auto ticket = meter->submit(tensors, {.categories = *categories_from("max,l2norm")}, {&written, 1});
//   ...                                                                     // the next training step
//   auto rows = ticket->collect();                                          // waits only if it must
//
// OpenCL's handles pass as opaque pointers, so that this header needs none of OpenCL's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tensorstat/meter.hpp>

namespace tensorstat {

// A batch under way. Destroying it waits for the device, which is still writing results. After a failed call that
// is a minute at most; the tensors must be kept until `event` has completed all the same.
class Ticket {
 public:
  Ticket(Ticket&&) noexcept;
  Ticket& operator=(Ticket&&) noexcept;
  ~Ticket();

  // A cl_event that completes when the results are on the host: from then on the tensors may change. The
  // ticket keeps its own reference; retain it to keep it longer.
  void* event() const;

  // One Measurement a tensor, in order; waits for this batch alone. An error of the device leaves nothing
  // lost but the results: while the tensors hold their bits, a Meter can still measure them on the host. After any
  // error but Code::kInUse, of this and of `submit`, nothing reads the tensors any more (see Meter::measure).
  // A second call, of this or of the other, is an error.
  Result<Measurements> collect();
  // The same as Partials; see Meter::fold().
  Result<std::vector<Partial>> collect_partials();

 private:
  friend class DeviceMeter;
  struct State;
  explicit Ticket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same of pairs of tensors (<tensorstat/pair.hpp>).
class PairTicket {
 public:
  PairTicket(PairTicket&&) noexcept;
  PairTicket& operator=(PairTicket&&) noexcept;
  ~PairTicket();

  void* event() const;  // Ticket's
  // One PairPartial a pair, in order; errors are Ticket's. A second call is an error.
  Result<std::vector<PairPartial>> collect();

 private:
  friend class DeviceMeter;
  struct State;
  explicit PairTicket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Thread-safe; any number of batches may be in flight. No device memory is allocated for a tensor, nor
// for a batch once as many of that size have been in flight before.
class DeviceMeter {
 public:
  // On a cl_command_queue, in or out of order, which is retained; in its context and on its device. At
  // most `budget_bytes` of device memory are taken, by all batches in flight together.
  static Result<DeviceMeter> on(void* queue, std::optional<std::uint64_t> budget_bytes = std::nullopt);
  DeviceMeter(DeviceMeter&&) noexcept;
  DeviceMeter& operator=(DeviceMeter&&) noexcept;
  ~DeviceMeter();

  // Enqueues one upload, one launch for each dtype and cl_mem and one for each dtype of the others, and one
  // read-back, all behind the cl_events of `wait_list`, then flushes the queue. Does not wait, except that
  // the first batch of a dtype and its categories builds and probes a kernel. The tensors (Where::kClBuffer,
  // shared virtual memory, or host memory that the device reads in place) must hold their bits until the
  // ticket's event has completed. A device in the host's address space needs no upload, no read-back and no
  // memory. Quantiles take up to 2 MiB a tensor there. Refused, with words: digests, On::kHost, what the budget has no room
  // for, and what Meter::measure() refuses.
  Result<Ticket> submit(std::span<const Tensor> tensors, const Request& request, std::span<void* const> wait_list = {});

  // The same of pairs: one launch for each two dtypes and cl_mems. Refused, beside what Meter::compare() refuses: a device
  // without fp64.
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

// What a device does with its own memory, for people who ask whether it is worth using.
struct DeviceSpeed {
  double measured_gb_per_s = 0;  // statistics of one float32 tensor there, from submitting it to having the values
  double read_gb_per_s = 0;      // a kernel that only reads the same bytes
};
// Medians of some rounds, in turns, on the device that the options name, over as many bytes, a multiple of 4096. Takes so
// much device memory, and up to seconds; errors are those of a DeviceMeter.
Result<DeviceSpeed> device_speed(const MeterOptions& options, std::uint64_t bytes = std::uint64_t{64} << 20);

}  // namespace tensorstat
