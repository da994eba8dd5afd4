// One run of an operator, with its tensors, on its way from the training thread to the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/dump/session/tensor_pool.hpp"

namespace tensorstat {

class DumpOperator {
 public:
  std::string type, name;  // control characters are _, so that a row of any dialect is one line
  std::uint64_t stream_id = 0, task_id = 0;
  bool wanted = false;
};

struct PendingTensor {
  Tensor tensor;  // Stored::kInt4, kUint1: its bytes as uint8
  Shape shape;    // in values, of the sample where one is taken
  std::uint64_t value_count = 0;
  Io io = Io::kOutput;
  std::uint32_t slot = 0;
  Stored stored = Stored::kPlain;
  std::string format;
  bool requires_grad = false;
  std::uint64_t timestamp_us = 0;
  std::shared_ptr<const void> keep_alive;
  // Host memory that is the caller's again when `collect` returns. A device that fails may read on (Code::kInUse), and
  // nobody here could keep this memory for it: only the host looks at it.
  bool is_borrowed = false;

  std::uint32_t* faults = nullptr;  // the caller's, until collect() returns
  std::optional<Statistics> found;  // once it was measured: none where it has none (complex), or could not be measured

  // Whether its bits have to be copied before the caller goes on: they may change, or they do not
  // lie one after another, which nothing behind this point knows.
  bool must_be_copied() const {
    return tensor.strides != nullptr || (keep_alive == nullptr && tensor.where != Where::kClBuffer);
  }
};

struct PendingRun {
  DumpPlace place;  // with initial_iteration added
  const DumpOperator* op = nullptr;
  std::uint64_t call = 0;  // for the output, which may number the runs of an operator
  std::vector<PendingTensor> tensors;
  std::string layout;  // of the tensors in the call, where the caller says it
  bool is_measured = false;
  TensorPool::Buffer buffer;  // where copied tensors lie
};

// The text with _ for control characters.
std::string one_line(std::string_view text);

inline bool is_complex(Stored stored) { return stored == Stored::kComplex64 || stored == Stored::kComplex128; }

// "float32"; "int4", "uint1", "complex64" where the dtype cannot say it.
std::string_view data_type(const PendingTensor& tensor);

// The identity columns of its row, and the parts of its file name.
Identity identity_of(const PendingRun& run, const PendingTensor& tensor);

// What a backend handed over, checked. An error says what contradicts what.
Result<PendingTensor> hold(const DumpTensor& given, bool device_format);

// Cuts a tensor of more values to its first `sample_num`, unless that is 0.
void take_sample(PendingTensor& held, std::uint64_t sample_num);

}  // namespace tensorstat
