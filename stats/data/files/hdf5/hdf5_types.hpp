// The types of HDF5's elements that are dtypes.
#pragma once

#include <string>
#include <tensorstat/catalog.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/files/hdf5/hdf5_library.hpp"

namespace tensorstat {

// The dtype of a type in a file; the error names an unsupported type. Needs an access.
Result<Dtype> hdf5_dtype(const Hdf5Library& hdf5, hid_t type);

// The members of a structure; empty for any other type, and for complex numbers.
std::vector<std::string> hdf5_members(const Hdf5Library& hdf5, hid_t type);

// Whether the members of a structure lie inside of it; true for any other type. libhdf5 1.10 does not ask when it reads
// a damaged file, and copies past the structure.
bool hdf5_holds_members(const Hdf5Library& hdf5, hid_t type);

// The type of the member with this name; for an enumeration, its integer type. Below 0 if the member is missing.
hid_t hdf5_member_type(const Hdf5Library& hdf5, hid_t type, const std::string& member);

inline Error hdf5_unsupported(const std::string& what) { return {Code::kUnsupported, what}; }
inline Error hdf5_unreadable(const std::string& what) { return {Code::kUnreadable, what}; }

}  // namespace tensorstat
