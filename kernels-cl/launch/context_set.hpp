// The OpenCL contexts that a Meter works in: its home, which is its own or its caller's, and the contexts of tensors in
// a cl_mem. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels-cl/launch/queue_context.hpp"

namespace tensorstat::cl_engine {

// The OpenCL context of a tensor in a cl_mem.
Result<cl_context> context_of(const Tensor& tensor, KnownBuffer& known);

// An error if a tensor in a cl_mem is in another context than the queue: its commands can use the memory of one
// context.
Status check_context(const QueueContext& queue_context, const Tensor& tensor, KnownBuffer& known);

class ContextSet {
 public:
  ContextSet(std::unique_ptr<QueueContext> home, Ledger& ledger) : home_(std::move(home)), ledger_(ledger) {}

  QueueContext& home() const { return *home_; }

  // The context in which the device can read a tensor: home, or for a cl_mem its own context, on a queue of ours. At
  // most kMost other contexts are kept, each with its kernels. Beyond that the least recently used one goes.
  static constexpr std::size_t kMost = 8;
  Result<std::shared_ptr<QueueContext>> of(const Tensor& tensor, KnownBuffer& known);
  // The same for one tensor, or for two. The error says why no context holds both.
  Result<std::shared_ptr<QueueContext>> of(std::span<const Tensor> tensors, KnownBuffers& known);

 private:
  const std::shared_ptr<QueueContext> home_;
  Ledger& ledger_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<QueueContext>> others_;  // the least recently used first
};

}  // namespace tensorstat::cl_engine
