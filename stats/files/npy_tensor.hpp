// An .npy file, or such a member of an archive, as the tensor in it.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/files/byte_source.hpp"
#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

// The tensor whose header begins the range and whose elements fill the rest of it; an error, which names `label`, where
// that is not so, or where the header contradicts `original`.
Result<StoredTensor> read_npy_tensor(ByteSource& source, const std::string& label, ByteRange range, Original original);

}  // namespace tensorstat
