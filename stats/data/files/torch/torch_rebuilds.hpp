// The functions by which tensors come out of a pickle, and the names of storages.
// Sources: https://github.com/pytorch/pytorch torch/_utils.py, torch/_tensor.py (_reduce_ex_internal);
// https://github.com/Ascend/pytorch torch_npu/utils/storage.py
#pragma once

#include <cstddef>
#include <string_view>

namespace tensorstat {

// The classes of storages, and the dtypes: "torch FloatStorage", "torch float32".
struct TorchDtype {
  std::string_view storage, name;
};
inline constexpr TorchDtype kTorchDtypes[] = {
    {"DoubleStorage", "float64"},
    {"FloatStorage", "float32"},
    {"HalfStorage", "float16"},
    {"BFloat16Storage", "bfloat16"},
    {"LongStorage", "int64"},
    {"IntStorage", "int32"},
    {"ShortStorage", "int16"},
    {"CharStorage", "int8"},
    {"ByteStorage", "uint8"},
    {"BoolStorage", "bool"},
    {"ComplexFloatStorage", "complex64"},
    {"ComplexDoubleStorage", "complex128"},
};
// Storages of bytes: _rebuild_tensor_v3 gives the dtype of the elements, or they are quantized.
inline constexpr std::string_view kByteStorages[] = {"UntypedStorage", "_UntypedStorage", "QInt8Storage",
                                                     "QUInt8Storage",  "QUInt4x2Storage", "QUInt2x4Storage"};

// Two float4_e2m1fn in a byte, the low half first.
// Source: torch/headeronly/util/Float4_e2m1fn_x2.h
inline constexpr std::string_view kTorchPairs = "float4_e2m1fn_x2";

inline constexpr std::string_view kTorchUtils = "torch._utils";

// Functions that make a tensor from a storage, with the positions of their arguments.
struct Rebuilt {
  std::string_view name;
  std::size_t dtype_at = 0;     // 0: the storage says it
  std::size_t metadata_at = 0;  // a dict of the view's flags, "neg" and "conj"; 0: none. May be left out
  std::string_view module = kTorchUtils;
};
// An NPU's has the number of its device's format behind it. Its storage is a CPU's, in the order of the shape.
inline constexpr Rebuilt kRebuilt[] = {{"_rebuild_tensor"},
                                       {"_rebuild_tensor_v2", 0, 6},
                                       {"_rebuild_tensor_v3", 6, 7},
                                       {"_rebuild_npu_tensor", 0, 0, "torch_npu.utils.storage"}};

// Functions that return the elements of their first argument, in torch._utils. The last three are for devices without
// storages, such as XLA and HPU: torch moves their elements to the CPU, as a tensor or a NumPy array.
inline constexpr std::string_view kPassing[] = {"_rebuild_parameter", "_rebuild_parameter_with_state",
                                                "_rebuild_device_tensor_from_cpu_tensor",
                                                "_rebuild_device_tensor_from_numpy", "_rebuild_xla_tensor"};

// Objects with elements in an unsupported form, or without elements.
struct Unread {
  std::string_view name, what;
  bool has_numbers = true;
};
inline constexpr Unread kUnread[] = {
    {"_rebuild_qtensor", "is quantized (_rebuild_qtensor), which is not read"},
    {"_rebuild_sparse_tensor", "is sparse (_rebuild_sparse_tensor), which is not read"},
    {"_rebuild_nested_tensor", "is nested (_rebuild_nested_tensor), which is not read"},
    {"_rebuild_meta_tensor_no_storage", "is on the meta device and has no elements", false},
};

}  // namespace tensorstat
