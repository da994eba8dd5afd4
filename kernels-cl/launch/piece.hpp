// What is folded on a device: a task is the work for one partial, and a piece is a part of it that one work-item or
// work-group folds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/program.hpp"
#include "stats/engine/engine.hpp"

namespace tensorstat::cl_engine {

// Where a kernel reads: from `first_byte` of `memory`, or, if that is null, from the address `first_byte`.
struct Source {
  cl_mem memory = nullptr;
  std::uint64_t first_byte = 0;
};

// From element `first` of a tensor in a cl_mem, or at an address that the device follows.
Source source_of(const Tensor& tensor, std::uint64_t first = 0);

struct Piece {
  KernelKind kind;
  std::array<Source, 2> sources{};  // the second is used if two tensors are compared
  std::size_t job = 0;              // its elements end up in the partial of this job
  std::uint64_t count = 0;
  std::uint64_t first_element = 0;  // the first one's index in that partial
  double cast_scale = 1;
  PairTolerance tolerance{};  // of all pieces of a batch
  bool writes_codes = false;  // for quantiles: the host counts the codes, because counts would be more bytes
};

// A tensor, or two with equal element counts.
struct Task {
  KernelKind kind;
  std::array<Tensor, 2> operands{};  // the second is used if two tensors are compared
  std::uint64_t first_element = 0;
  double cast_scale = 1;
  PairTolerance tolerance{};

  std::span<const Tensor> tensors() const { return std::span(operands).first(kind.tensors()); }
  std::uint64_t count() const { return operands[0].element_count; }
  // The elements [first, first + count), without their sources.
  Piece piece(std::size_t job, std::uint64_t first, std::uint64_t count) const;
};
Task task_of(const Job& job);
Task task_of(const PairJob& job);

// Cuts a piece into pieces of the size that a launch over `total_bytes` wants.
void cut(const Device& device, Piece whole, std::uint64_t total_bytes, std::vector<Piece>& pieces);

}  // namespace tensorstat::cl_engine
