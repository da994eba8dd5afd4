// Compilers for OpenCL C have been wrong before. So each kernel first folds a small tensor with a known partial.
#pragma once

#include <memory>

#include "kernels-cl/launch/batch.hpp"

namespace tensorstat::cl_engine {

// Folds a tensor of awkward values with `kernel`, or two tensors, and compares every requested word with the lift's.
// Waits for the result. `queue` belongs to `context` and is ours, not the caller's. The error says what differed.
Status self_check(const Device& device, BufferCache& buffers, const cl::Context& context, const cl::CommandQueue& queue,
                  const std::shared_ptr<Kernel>& kernel, const KernelKind& kind);

}  // namespace tensorstat::cl_engine
