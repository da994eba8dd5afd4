#include "stats/files/hdf5/hdf5_library.hpp"

#include <dlfcn.h>

#include <string>

namespace tensorstat {
namespace {

// What a macro stands for: headers may give a function another name.
#define TENSORSTAT_TEXT_OF(text) #text
#define TENSORSTAT_TEXT(text) TENSORSTAT_TEXT_OF(text)

Result<Hdf5Library> load_hdf5() {
  void* const handle = ::dlopen(TENSORSTAT_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  const Error missing{Code::kUnsupported,
                      "an HDF5 file, for which " TENSORSTAT_HDF5_LIBRARY " is needed: apt-get install libhdf5-103-1"};
  if (handle == nullptr) return missing;
  Hdf5Library library = {};
#define TENSORSTAT_HDF5_LOAD(name)                                                                       \
  library.name##_ = reinterpret_cast<decltype(library.name##_)>(::dlsym(handle, TENSORSTAT_TEXT(name))); \
  if (library.name##_ == nullptr) return missing;
  TENSORSTAT_HDF5_FUNCTIONS(TENSORSTAT_HDF5_LOAD)
#undef TENSORSTAT_HDF5_LOAD
  if (library.H5open_() < 0) return Error{Code::kUnsupported, "an HDF5 file, and libhdf5 does not start"};
  return library;
}

std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

Result<const Hdf5Library*> hdf5_library() {
  static const Result<Hdf5Library> library = load_hdf5();
  if (!library) return library.error();
  return &*library;
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
