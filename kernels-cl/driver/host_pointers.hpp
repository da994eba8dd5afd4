// Finds out whether a device can use the host's pointers directly. Then many tensors, each in its own memory, are one
// launch over a table of addresses, without a cl_mem for each.
#pragma once

#include <span>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/piece.hpp"

namespace tensorstat::cl_engine {

// Asks the device for its shared virtual memory. If it has none but runs native kernels, such a kernel tells the
// address of lent memory. If that is the host's address, the device's kernels run in this address space, and every host
// pointer is valid there. With TENSORSTAT_CL_POINTERS=0 the result is Pointers::kNone.
Pointers find_pointers(const Device& device, const cl::Context& context, const cl::CommandQueue& queue);

// Tells a kernel which shared virtual memory its next launch reads, because no argument names these pieces.
cl_int announce(const cl::Kernel& kernel, Pointers pointers, std::span<const Piece> pieces);

}  // namespace tensorstat::cl_engine
