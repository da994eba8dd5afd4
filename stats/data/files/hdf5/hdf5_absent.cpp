// In place of hdf5_file.cpp in a build without libhdf5-dev: says so.
#include "stats/core/base/printable.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

bool begins_as_hdf5(std::string_view head) { return head.starts_with("\x89HDF\r\n\x1a\n"); }

OpenedSource open_hdf5(std::shared_ptr<const RandomFile> file, const ReadOptions&) {
  return Error{Code::kUnsupported,
               printable(file->path()) + ": an HDF5 file; not supported: this program was built without libhdf5-dev"};
}

bool is_named_as_hdf5(std::string_view name) { return name.ends_with(".h5") || name.ends_with(".hdf5"); }

}  // namespace

extern const TensorFormat hdf5_format;
const TensorFormat hdf5_format = {
    .extension = "", .begins = begins_as_hdf5, .open = open_hdf5, .label = ".h5", .is_named = is_named_as_hdf5};

}  // namespace tensorstat
