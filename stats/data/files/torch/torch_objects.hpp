// The tensors in what torch.save pickled: their names, and where their elements are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/torch/pickle.hpp"

namespace tensorstat {

// A tensor as a view of a storage. `stride` and `offset` count elements of `dtype`; of float4_e2m1fn, bytes with two.
struct TorchTensor {
  std::string name;  // its keys from the root, "optimizer.state.0.exp_avg"; empty where the root is the tensor
  std::string_view storage;
  Dtype dtype = Dtype::kFloat32;
  std::uint64_t offset = 0;
  Shape shape, stride;
  bool is_negated = false, is_conjugated = false;  // as in StoredTensor
  // Instead of storage, offset and stride for a NumPy array: its elements, in an order of their own.
  std::shared_ptr<const std::string> elements = nullptr;
  bool is_swapped = false, is_fortran = false;
  std::string shard = {};  // as in StoredTensor
};

struct TorchObjects {
  std::vector<Result<TorchTensor>> tensors;  // an error names the tensor or object, and says why it is not read
};

// In the order of the pickle. Two tensors may have one name, because keys have dots. A DTensor is its _local_tensor
// alone, and other subclasses without a storage are the tensors of their state. The states of an optimizer are named by
// its parameters if the pickle tells them. An object of a class of its own is not made: the tensors of its attributes
// are read, under their names, of a torch.nn.Module without _modules, _parameters and _buffers between them. What a
// function that is not known would make of tensors is an error. A container that is met twice is read once. Fails where
// it is nested deeper than 1,000, or names take more than 256 MiB.
Result<TorchObjects> torch_objects(const Pickle& pickle);

// The size of an element of each storage that is named, by the identity that torch gives it ('storage', type, key,
// ...): the legacy form of files has to know.
struct TorchStorage {
  std::string_view key;
  std::uint64_t element_bytes = 1;
};
Result<std::vector<TorchStorage>> torch_storages(const Pickle& pickle);

}  // namespace tensorstat
