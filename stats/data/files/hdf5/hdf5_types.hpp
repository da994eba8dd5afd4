// The types of HDF5's elements that are dtypes.
#pragma once

#include <string>
#include <tensorstat/catalog.hpp>
#include <tensorstat/status.hpp>

#include "stats/data/files/hdf5/hdf5_library.hpp"

namespace tensorstat {

// The dtype of a type in a file; an error says what it is. Needs an access.
Result<Dtype> hdf5_dtype(const Hdf5Library& hdf5, hid_t type);

inline Error hdf5_unsupported(const std::string& what) { return {Code::kUnsupported, what}; }
inline Error hdf5_unreadable(const std::string& what) { return {Code::kUnreadable, what}; }

}  // namespace tensorstat
