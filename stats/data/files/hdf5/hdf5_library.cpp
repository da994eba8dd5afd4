#include "stats/data/files/hdf5/hdf5_library.hpp"

namespace tensorstat {
namespace {

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

Result<const Hdf5Library*> hdf5_library() {
  // HDF5 1.10, 1.12, 1.14 and 2.0, as Debian names them and as HDF5 itself does. What is used of them is the same.
  const Hdf5Library* const library = loaded<Hdf5Library>(
      TENSORSTAT_HDF5_LIBRARY, "libhdf5_serial.so.103", "libhdf5_serial.so.310", "libhdf5_serial.so.320",
      "libhdf5.so.103", "libhdf5.so.200", "libhdf5.so.310", "libhdf5.so.320");
  if (library == nullptr) {
    return Error{Code::kUnsupported,
                 "an HDF5 file, for which libhdf5 is needed, of HDF5 1.10 to 2.0: apt-get install "
                 "libhdf5-103-1 (Debian 12) or libhdf5-310 (Debian 13)"};
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
