// Whether a device follows the host's pointers as they are. Then many tensors, each in memory of its own,
// are one launch over a table of addresses, without a cl_mem for each.
#pragma once

#include <span>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/piece.hpp"

namespace tensorstat::cl_engine {

// What the device says of its shared virtual memory. One that says nothing but runs native kernels is
// asked by such a kernel for the address of memory that it was lent: where that is the host's address, its
// kernels run in this address space, and any pointer of the host's is good there.
// TENSORSTAT_CL_POINTERS=0 says Pointers::kNone.
Pointers find_pointers(const Device& device, const cl::Context& context, const cl::CommandQueue& queue);

// Tells a kernel which shared virtual memory its next launch reads: pieces that no argument names.
cl_int announce(const cl::Kernel& kernel, Pointers pointers, std::span<const Piece> pieces);

}  // namespace tensorstat::cl_engine
