// One run of an operator, with its tensors, between the training thread and the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/opencl.hpp>
#include <tensorstat/rows.hpp>
#include <utility>
#include <vector>

#include "stats/job/dump/session/tensor_pool.hpp"

namespace tensorstat {

class DumpOperator {
 public:
  std::string type, name;  // control characters are _, so that a row is one line in every dialect
  std::uint64_t stream_id = 0, task_id = 0;
  bool has_ids = false;  // the backend gave one of them
  std::atomic<bool> wanted{false};
  std::atomic<bool> is_inside{false};  // runs inside of a call that the config wants with all in it
  bool set_dump = false;
  bool has_every_io = false;              // its inputs and outputs are wanted, whatever the config says of these
  bool is_bound = false;                  // a rule begins or ends with its runs
  std::atomic<bool> is_only_seen{false};  // it is wanted for this alone: none of its tensors is dumped
};

struct PendingTensor {
  Tensor tensor;  // Stored::kInt4, kUint1: the packed bytes as uint8
  Shape shape;    // in values; the shape of the sample if one is taken
  std::uint64_t value_count = 0;
  Io io = Io::kOutput;
  std::uint32_t slot = 0;
  Stored stored = Stored::kPlain;
  std::string format;
  HostForm on_host = {};
  bool requires_grad = false;
  std::uint64_t timestamp_us = 0;
  std::shared_ptr<const void> keep_alive;
  // Host memory that the caller reuses after `collect` returns. Only the host may read it: a failed device could still
  // read it later (Code::kInUse), and the session cannot keep it.
  bool is_borrowed = false;

  std::uint32_t* faults = nullptr;  // the caller's memory, valid until collect() returns
  std::uint64_t number = 0;         // if not 0, settle() tells the faults
  bool is_for_event = false;        // no row; saved if an alert names a tensor of the same operator
  bool is_of_alert = false;         // an alert names it
  std::optional<std::string> differs_over;
  std::shared_ptr<const BoardTicket> ticket;  // if it was folded on the board
  std::optional<Statistics> statistics;       // set once measured; stays empty for complex tensors and after errors

  // Whether the bits must be copied before the caller goes on: they may change, or they are strided, which later stages
  // do not support.
  bool must_be_copied() const {
    if (statistics || ticket) return false;
    return tensor.strides != nullptr || (keep_alive == nullptr && tensor.where != Where::kClBuffer);
  }
};

struct PendingRun {
  DumpPlace place;  // including initial_iteration
  const DumpOperator* op = nullptr;
  std::uint64_t call = 0;  // used by outputs that number the runs of an operator
  std::vector<PendingTensor> tensors;
  std::string layout;  // of the tensors in the call, if the caller gave it
  // For a bound operator: all tensors that were handed over, also the ones not dumped. has_results: these, or the
  // layout, have results of the call.
  std::vector<std::pair<Io, std::uint32_t>> given;
  bool has_results = false;
  bool is_measured = false;
  bool is_on_board = false;        // tensors of it have tickets
  bool is_judged = false;          // by the rules of alerts
  bool is_of_event_alone = false;  // it has nothing but tensors of an alert's event
  TensorPool::Buffer buffer;       // memory of the copied tensors
};

// The text with control characters replaced by _.
std::string one_line(std::string_view text);

inline bool is_complex(Stored stored) { return stored == Stored::kComplex64 || stored == Stored::kComplex128; }

// "float32"; for types without a dtype of their own "int4", "uint1", "complex64".
std::string_view data_type(const PendingTensor& tensor);

// The identity columns of a tensor's row, which are also the parts of its file name.
Identity identity_of(const PendingRun& run, const PendingTensor& tensor);

// DumpTensor's word for a measured tensor.
std::uint32_t faults_of(const Statistics& statistics);

// Checks a tensor that a backend handed over. An error names the contradiction.
Result<PendingTensor> hold(const DumpTensor& given, bool device_format);

// Cuts a tensor to its first `sample_num` values; 0: no cut.
void take_sample(PendingTensor& tensor, std::uint64_t sample_num);

}  // namespace tensorstat
