// Elements that a message has as varints, such as ONNX's int32_data.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"

namespace tensorstat {

// The varints in these ranges, one after the other: the lowest `number_bytes` bytes of each, in this machine's order.
// There must be `count` of them, else reading the last one is an error. Reads in order. `label` is for messages.
std::unique_ptr<ByteSource> number_bytes(std::shared_ptr<const RandomFile> file, std::vector<ByteRange> ranges,
                                         std::uint64_t count, unsigned number_bytes, std::string label);

}  // namespace tensorstat
