// Where an Ascend device keeps the elements of a tensor: its formats, as Ascend's documents of data formats define
// them.
//
//   NC1HWC0     (N, C1, H, W, C0)             C in C1 blocks of C0
//   NDC1HWC0    (N, D, C1, H, W, C0)          the same with depth
//   FRACTAL_Z   (C1 H W, N1, N0, C0)          for a convolution's weights; N in N1 blocks of N0, too
//   FRACTAL_NZ  (..., N1, M1, M0, N0)         for the last two axes (M, N)
//
// Tiles are filled up with padding, which does not belong to the tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tensorstat/tensor.hpp>

#include "stats/data/files/io/tiled_bytes.hpp"

namespace tensorstat {

struct HostLayout {
  std::string_view format;      // the order of the axes of the original shape: "NCHW", "NHWC", "HWCN", "NCDHW",
                                // "NDHWC" or "ND"; static text
  std::vector<TiledAxis> axes;  // of the original shape
};

// How a tensor of the original shape lies in a device's shape. `original_format` is its name, or "" if it is not known:
// then NCHW, or NCDHW, is taken where it fits, as Ascend's own converter takes it. nullopt if the format is another
// one, or if the two shapes do not fit. `groups`: the number of groups of a grouped convolution, because its weights
// lie otherwise; 0 and 1 mean that it is not grouped.
std::optional<HostLayout> host_layout(std::string_view format, const Shape& device, const Shape& original,
                                      std::string_view original_format, std::int32_t groups);

}  // namespace tensorstat
