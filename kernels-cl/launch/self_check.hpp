// Compilers for OpenCL C have been wrong before. No kernel is believed before it has folded a small tensor
// whose partial is known.
#pragma once

#include <memory>

#include "kernels-cl/launch/batch.hpp"

namespace tensorstat::cl_engine {

// Folds a tensor of awkward values with `kernel`, or two of them, and compares every word that was asked for with the
// lift's. Waits for the result: `queue` is the engine's own, of `context`. An error says what differed.
Status self_check(const Device& device, BufferCache& buffers, const cl::Context& context, const cl::CommandQueue& queue,
                  const std::shared_ptr<Kernel>& kernel, const KernelKind& kind);

}  // namespace tensorstat::cl_engine
