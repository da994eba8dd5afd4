// Where the elements of torch's tensors are in a file.
#pragma once

#include <cstdint>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/files/torch/torch_objects.hpp"

namespace tensorstat {

struct Storage {
  std::uint64_t offset_bytes = 0, bytes = 0;
};

// What a file has of each storage; an error says why it has not.
class Storages {
 public:
  virtual ~Storages() = default;
  virtual Result<Storage> find(std::string_view key) = 0;
};

// A tensor that is a view of a storage. An error if it does not lie within it.
Result<StoredTensor> stored_of(const TorchTensor& tensor, Storages& storages, bool is_big_endian,
                               std::uint64_t window_bytes);

}  // namespace tensorstat
