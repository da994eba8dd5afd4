#include "stats/files/hdf5/hdf5_library.hpp"

namespace tensorstat {
namespace {

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

Result<const Hdf5Library*> hdf5_library() {
  const Hdf5Library* const library = loaded<Hdf5Library>(TENSORSTAT_HDF5_LIBRARY);
  if (library == nullptr) {
    return Error{Code::kUnsupported,
                 "an HDF5 file, for which " TENSORSTAT_HDF5_LIBRARY " is needed: apt-get install libhdf5-103-1"};
  }
  static const bool is_started = library->H5open_() >= 0;
  if (!is_started) return Error{Code::kUnsupported, "an HDF5 file, and libhdf5 does not start"};
  return library;
}

Hdf5Access::Hdf5Access(const Hdf5Library& library) : library_(library), lock_(hdf5_mutex()) {
  library_.H5PLget_loading_state_(&plugins_);
  library_.H5PLset_loading_state_(0);
  library_.H5Eget_auto2_(H5E_DEFAULT, &print_, &print_data_);
  library_.H5Eset_auto2_(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Access::~Hdf5Access() {
  library_.H5Eset_auto2_(H5E_DEFAULT, print_, print_data_);
  library_.H5PLset_loading_state_(plugins_);
}

}  // namespace tensorstat
