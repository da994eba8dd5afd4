// Tensors whose bytes come by once: of a pipe, and of raw files and pipes, which have no header.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/tensor.hpp>

#include "stats/files/tensor_source.hpp"

namespace tensorstat {

// Whether the path names the standard input ("-") or a pipe, which a RandomFile cannot be.
bool is_stream(const std::string& path);

// The .npy arrays of a stream, one after another: the first without a name, the others named "1", "2" and so on. Memory
// does not grow with the stream. Each tensor has to be read before the next is asked for; what is left of it then is
// passed over. Or, with options.raw, the one tensor whose elements are the whole stream.
OpenedSource open_stream(const std::string& path, const ReadOptions& options);

// With options.raw, the tensor whose elements are the whole regular file.
OpenedSource open_raw(const std::string& path, const ReadOptions& options);

}  // namespace tensorstat
