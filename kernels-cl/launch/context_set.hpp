// The OpenCL contexts that a Meter works in: one of its own, or its caller's, and those that tensors in
// a cl_mem turn out to live in. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels-cl/launch/queue_context.hpp"

namespace tensorstat::cl_engine {

class ContextSet {
 public:
  ContextSet(std::unique_ptr<QueueContext> home, Ledger& ledger) : home_(std::move(home)), ledger_(ledger) {}

  QueueContext& home() const { return *home_; }

  // Where a tensor can be worked on: home, and for a cl_mem of another context there, on a queue of our own. So
  // many of these are kept, with their kernels and a reference to their context; then the one that was least
  // recently asked for goes.
  static constexpr std::size_t kMost = 8;
  Result<std::shared_ptr<QueueContext>> of(const Tensor& tensor);
  // Where a tensor, or two, can be worked on. An error, with words, if there is no such context.
  Result<std::shared_ptr<QueueContext>> of(std::span<const Tensor> tensors);

 private:
  const std::shared_ptr<QueueContext> home_;
  Ledger& ledger_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<QueueContext>> others_;  // the least recently asked for first
};

}  // namespace tensorstat::cl_engine
