// The datasets of an HDF5 file, and their elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/files/hdf5/hdf5_library.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {

// An open file. Closed when the last owner is gone.
class Hdf5File {
 public:
  static Result<std::shared_ptr<const Hdf5File>> open(std::shared_ptr<const RandomFile> file);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  const RandomFile& file() const { return *file_; }
  const Hdf5Library& library() const { return library_; }
  hid_t id() const { return id_; }

 private:
  Hdf5File(std::shared_ptr<const RandomFile> file, const Hdf5Library& library, hid_t id)
      : file_(std::move(file)), library_(library), id_(id) {}
  const std::shared_ptr<const RandomFile> file_;
  const Hdf5Library& library_;
  const hid_t id_;
};

// "model_weights/dense/kernel:0" of each dataset, in the order of names, and an error for each external link. An object
// with several names has the first. Soft links are other names, and left out.
Result<std::vector<Result<std::string>>> hdf5_names(const Hdf5File& file);

// The dataset of this name, or a member of its structures, which is NAME::MEMBER. Its bytes are read through the
// library in windows of 16 MiB, or of a chunk.
Result<SourcedTensor> hdf5_dataset(const std::shared_ptr<const Hdf5File>& file, const std::string& name,
                                   const std::string& member = {});

// The members of a dataset of structures; empty for any other.
std::vector<std::string> hdf5_members_of(const Hdf5File& file, const std::string& name);

}  // namespace tensorstat
