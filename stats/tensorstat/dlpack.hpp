// SPDX-License-Identifier: Apache-2.0
// Tensors of other frameworks, as DLPack describes them: NumPy, PyTorch, JAX, CuPy, TVM and others hand them over.
// https://dmlc.github.io/dlpack/latest/c_api.html, versions 0.x and 1.x.
#pragma once

#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// The tensor that `dl_tensor`, a DLTensor*, describes; nothing is copied, and the DLTensor's owner keeps its bits. Of a
// DLManagedTensor and of a DLManagedTensorVersioned it is the member `dl_tensor`. Where the elements do not lie one after
// another in C order, `strides` is filled, and the tensor points to it: it has to outlive the tensor.
//   devices   kDLCPU; kDLOpenCL, whose `data` is a cl_mem that is read from `byte_offset` on
//   dtypes    int, uint, float, bfloat, bool and float8 codes for which there is a Dtype
// Refused with words: every other device and dtype, `lanes` other than 1 (of float4 2), strides in OpenCL memory, dimensions below 0,
// and more elements than 2^63-1.
Result<Tensor> tensor_from_dlpack(const void* dl_tensor, Strides& strides);

}  // namespace tensorstat
