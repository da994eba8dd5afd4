// libhdf5, loaded when the first HDF5 file is opened. Linking it would bring 30 libraries into every process, and make
// the command start 25 ms later.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <tensorstat/status.hpp>
#include <utility>

#include "stats/core/base/loaded_library.hpp"

namespace tensorstat {

// Every function that is used, under the name that its header gives it.
#define TENSORSTAT_HDF5_FUNCTIONS(F) \
  F(H5open)                          \
  F(H5Eget_auto2)                    \
  F(H5Eset_auto2)                    \
  F(H5PLget_loading_state)           \
  F(H5PLset_loading_state)           \
  F(H5Fopen)                         \
  F(H5Fclose)                        \
  F(H5Gopen2)                        \
  F(H5Gclose)                        \
  F(H5Gget_objinfo)                  \
  F(H5Dopen2)                        \
  F(H5Dclose)                        \
  F(H5Dget_type)                     \
  F(H5Dget_space)                    \
  F(H5Dget_create_plist)             \
  F(H5Dget_storage_size)             \
  F(H5Dread)                         \
  F(H5Pget_layout)                   \
  F(H5Pget_chunk)                    \
  F(H5Pget_external_count)           \
  F(H5Pget_nfilters)                 \
  F(H5Pget_filter2)                  \
  F(H5Pclose)                        \
  F(H5Zfilter_avail)                 \
  F(H5Zregister)                     \
  F(H5Sget_simple_extent_type)       \
  F(H5Sget_simple_extent_ndims)      \
  F(H5Sget_simple_extent_dims)       \
  F(H5Screate_simple)                \
  F(H5Sselect_hyperslab)             \
  F(H5Sclose)                        \
  F(H5Tget_class)                    \
  F(H5Tget_size)                     \
  F(H5Tget_sign)                     \
  F(H5Tget_precision)                \
  F(H5Tget_offset)                   \
  F(H5Tget_fields)                   \
  F(H5Tget_ebias)                    \
  F(H5Tget_norm)                     \
  F(H5Tget_super)                    \
  F(H5Tget_nmembers)                 \
  F(H5Tget_member_name)              \
  F(H5Tget_member_value)             \
  F(H5Tget_member_offset)            \
  F(H5Tget_member_type)              \
  F(H5Tcopy)                         \
  F(H5Tcreate)                       \
  F(H5Tinsert)                       \
  F(H5Tset_order)                    \
  F(H5Tclose)                        \
  F(H5free_memory)

struct Hdf5Functions {
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_HDF5_FUNCTIONS)
};

struct Hdf5Library : Hdf5Functions {
  decltype(&::H5Literate) H5Literate_ = nullptr;

  // The headers may be of another version than the library: what HDF5 1.10 calls H5Literate is H5Literate1 since 1.12,
  // and H5Literate2 differs only in what its callback learns of a link behind the link's type.
  bool find(void* handle) noexcept {
    if (!Hdf5Functions::find(handle)) return false;
    for (const char* name : {TENSORSTAT_TEXT(H5Literate), "H5Literate", "H5Literate1"}) {
      if (H5Literate_ == nullptr) H5Literate_ = reinterpret_cast<decltype(H5Literate_)>(::dlsym(handle, name));
    }
    return H5Literate_ != nullptr;
  }
};

// The library; an error if it is not installed.
Result<const Hdf5Library*> hdf5_library();

// Debian's libhdf5 may be called by one thread at a time: every call needs an access. While one exists, no plugin is
// loaded, whatever HDF5_PLUGIN_PATH says, and nothing is printed. Both are as before afterwards, for other users in the
// process.
class Hdf5Access {
 public:
  explicit Hdf5Access(const Hdf5Library& library);
  ~Hdf5Access();
  Hdf5Access(const Hdf5Access&) = delete;
  Hdf5Access& operator=(const Hdf5Access&) = delete;

 private:
  const Hdf5Library& library_;
  const std::unique_lock<std::recursive_mutex> lock_;
  unsigned plugins_ = 0;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

// An identifier, closed at the end. Needs an access then, too.
class Hdf5Id {
 public:
  Hdf5Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id& operator=(Hdf5Id&&) = delete;
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

}  // namespace tensorstat
