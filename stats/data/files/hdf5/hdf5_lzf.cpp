// Format: LibLZF 3.6 (lzf_d.c). A byte below 32 begins a run of literal bytes, one more than its value. Any other byte
// has three bits of a length and the high five of a distance; the next byte has the rest of the distance. A length of 7
// continues in a byte before that. Parameters: h5py's lzf/lzf_filter.c, the third is the size of a chunk.
#include "stats/data/files/hdf5/hdf5_lzf.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tensorstat {
namespace {

constexpr H5Z_filter_t kLzf = 32000;
constexpr std::size_t kLzfGrowth = 88;  // three bytes stand for 264 at most
// A filter before this one may add to a chunk: scaleoffset and nbit their parameters, fletcher32 a checksum.
constexpr std::size_t kLzfHeader = 4096;

// The number of bytes written; 0 if the input is damaged or `room` is too small.
std::size_t unpacked_lzf(const unsigned char* in, std::size_t bytes, unsigned char* out, std::size_t room) {
  std::size_t position = 0, made = 0;
  while (position < bytes) {
    const std::size_t control = in[position++];
    if (control < 32) {
      const std::size_t count = control + 1;
      if (count > bytes - position || count > room - made) return 0;
      std::memcpy(out + made, in + position, count);
      position += count;
      made += count;
      continue;
    }
    std::size_t count = control >> 5;
    if (count == 7 && position < bytes) count += in[position++];
    if (position == bytes) return 0;
    const std::size_t distance = ((control & 0x1f) << 8 | in[position++]) + 1;
    count += 2;
    if (distance > made || count > room - made) return 0;
    for (std::size_t i = 0; i < count; ++i, ++made) out[made] = out[made - distance];  // they may overlap
  }
  return made;
}

// H5Z_func_t: replaces the buffer, which libhdf5 frees. 0 is a fault.
std::size_t filter_lzf(unsigned flags, std::size_t count, const unsigned* parameters, std::size_t bytes,
                       std::size_t* room, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;  // only unpacks
  const std::size_t of_chunk = count >= 3 ? parameters[2] : 0, most = bytes * kLzfGrowth;
  const std::size_t wanted = std::min(of_chunk != 0 ? of_chunk + kLzfHeader : most, most);
  auto* const out = wanted == 0 ? nullptr : static_cast<unsigned char*>(std::malloc(wanted));
  if (out == nullptr) return 0;
  const std::size_t made = unpacked_lzf(static_cast<const unsigned char*>(*buffer), bytes, out, wanted);
  if (made == 0) return std::free(out), 0;
  std::free(*buffer);
  *buffer = out;
  *room = wanted;
  return made;
}

}  // namespace

void register_hdf5_lzf(const Hdf5Library& hdf5) {
  if (hdf5.H5Zfilter_avail_(kLzf) > 0) return;
  Dl_info here;
  if (::dladdr(reinterpret_cast<const void*>(&register_hdf5_lzf), &here) == 0) return;
  // Keeps a shared library loaded. dlopen cannot open a program, which stays loaded anyway.
  ::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  const H5Z_class2_t lzf = {H5Z_CLASS_T_VERS, kLzf, 0, 1, "lzf", nullptr, nullptr, filter_lzf};
  hdf5.H5Zregister_(&lzf);
}

}  // namespace tensorstat
