// SPDX-License-Identifier: Apache-2.0
// Tensors of NumPy, PyTorch, JAX, CuPy, TVM and others, passed as DLPack structs.
// https://dmlc.github.io/dlpack/latest/c_api.html, versions 0.x and 1.x.
#pragma once

#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// Converts a DLTensor*, which is the member `dl_tensor` of a DLManagedTensor and of a DLManagedTensorVersioned. Copies
// no data: the DLTensor's owner keeps the memory. If the elements are not contiguous in C order, fills `strides`; the
// tensor points to it, so `strides` must outlive the tensor.
//   devices   kDLCPU, kDLCUDAHost and kDLROCMHost, which are read in place and must be complete; kDLOpenCL, if
//             `data` is a cl_mem; the tensor begins at `byte_offset`; kDLCUDA, kDLCUDAManaged and kDLROCM. Set `stream`
//             if the default stream neither makes the values nor waits for them
//   dtypes    int, uint, float, bfloat, bool, complex and float8 codes for which there is a Dtype
// Errors: any other device or dtype, `lanes` other than 1 (2 for float4), strides in device memory, a dimension below
// 0, more than 2^63-1 elements.
Result<Tensor> tensor_from_dlpack(const void* dl_tensor, Strides& strides);

}  // namespace tensorstat
