// NumPy arrays in a pickle: ndarray.__reduce__ is a call of _reconstruct, with a state behind it.
// Format: numpy/core/src/multiarray/methods.c (array_reduce, array_setstate), descriptor.c (arraydescr_reduce)
#pragma once

#include <tensorstat/status.hpp>

#include "stats/data/files/torch/pickle.hpp"
#include "stats/data/files/torch/torch_objects.hpp"

namespace tensorstat {

// Whether the node is a call that makes an array.
bool is_array(const Pickle& pickle, std::uint32_t id);

// Its dtype, shape and elements, which are copied into memory: at most `most_bytes`. `name` is left empty.
Result<TorchTensor> array_of(const Pickle& pickle, std::uint32_t id, std::size_t most_bytes);

}  // namespace tensorstat
