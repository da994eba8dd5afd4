// ggml's block formats, by their definition: https://github.com/ggml-org/ggml, src/ggml-common.h and ggml-quants.c.
//
// A value is an integer times a scale, in some formats minus a minimum or plus an offset. Products are exact in
// float32: at most 24 bits. Only the sum rounds, once. So every build of ggml gives these values, with fused
// multiplication or without.
#pragma once

#include <span>
#include <string_view>

#include "stats/data/files/io/block_bytes.hpp"

namespace tensorstat {

// "Q4_0", "Q6_K". nullptr for a name that is not read.
const BlockFormat* block_format(std::string_view name);

// The formats with code books or tables of values.
std::span<const BlockFormat> iq_formats();

}  // namespace tensorstat
