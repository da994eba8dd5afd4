// Where the elements of torch's tensors are in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/files/torch/torch_objects.hpp"
#include "stats/data/files/zip/zip_directory.hpp"

namespace tensorstat {

struct Storage {
  std::uint64_t offset_bytes = 0, bytes = 0;
};

// The content of each storage, or an error with the reason.
class Storages {
 public:
  virtual ~Storages() = default;
  virtual Result<Storage> find(std::string_view key) = 0;
};

// Where the bytes of a member are. An error if it is packed or encrypted.
Result<Storage> storage_in(const RandomFile& file, const ZipMember& member);

// The members of a folder of an archive, by their names there. Both outlive it.
class ArchiveStorages : public Storages {
 public:
  ArchiveStorages(const RandomFile& file, const std::vector<ZipMember>& members, std::string_view folder);
  Result<Storage> find(std::string_view key) override;

 private:
  const RandomFile& file_;
  std::map<std::string, const ZipMember*, std::less<>> members_;  // null: several have this name
};

// A tensor that is a view of a storage. An error if it does not lie within it.
Result<StoredTensor> stored_of(const TorchTensor& tensor, Storages& storages, bool is_big_endian,
                               std::uint64_t window_bytes);

}  // namespace tensorstat
