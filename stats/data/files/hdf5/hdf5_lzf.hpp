// The filter lzf, which h5py writes and libhdf5 has not.
#pragma once

#include "stats/data/files/hdf5/hdf5_library.hpp"

namespace tensorstat {

// Gives libhdf5 a decoder of lzf, unless it has one, such as h5py's. It stays there: to take it back, libhdf5 would
// write out the files of others. So this library stays loaded, too. Needs an Hdf5Access.
void register_hdf5_lzf(const Hdf5Library& hdf5);

}  // namespace tensorstat
