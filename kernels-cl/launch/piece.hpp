// The work of a device. A task is the work for one partial. A piece is the part of a task that one work-item or
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
#include "kernels-cl/program/program.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

// Where a kernel reads: from byte `first_byte` of `memory`. If `memory` is null, `first_byte` is an address.
struct Source {
  cl_mem memory = nullptr;
  std::uint64_t first_byte = 0;
};

// The source that begins at element `first`. The tensor is in a cl_mem, or at an address that the device follows.
Source source_of(const Tensor& tensor, std::uint64_t first = 0);

struct Piece {
  KernelKind kind;
  std::array<Source, 2> sources{};  // the second is used if two tensors are compared
  std::size_t job = 0;              // the number of the job that it belongs to
  std::uint64_t count = 0;
  std::uint64_t first_element = 0;  // the index of its first element in the job's partial
  double cast_scale = 1;
  PairTolerance tolerance{};  // the same for all pieces of a batch
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

// Cuts a piece into pieces of a size that suits a launch over `total_bytes`. Appends them to `pieces`.
void cut(const Device& device, Piece whole, std::uint64_t total_bytes, std::vector<Piece>& pieces);

}  // namespace tensorstat::cl_engine
