// Tensors from pipes, and from raw files and raw pipes without a header.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/tensor.hpp>

#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {

// Whether the path is the standard input ("-") or a pipe. RandomFile does not open these.
bool is_stream(const std::string& path);

// The .npy arrays of a stream, one after another: the first without a name, the others named "1", "2" and so on. Memory
// does not grow with the stream. Read each tensor before asking for the next; unread bytes are skipped. With
// options.raw, the whole stream is one tensor.
OpenedSource open_stream(const std::string& path, const ReadOptions& options);

// With options.raw: the whole regular file as one tensor.
OpenedSource open_raw(const std::string& path, const ReadOptions& options);

}  // namespace tensorstat
