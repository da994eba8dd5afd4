#include "stats/data/files/ascend/device_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tensorstat {
namespace {

// Whether `blocks` blocks of `block` elements are what an axis of `length` needs.
bool fills(std::uint64_t length, std::uint64_t blocks, std::uint64_t block) {
  return block != 0 && blocks == length / block + (length % block != 0);
}

TiledAxis plain(std::uint64_t length, std::uint64_t stride) { return {length, 1, stride, 0}; }

// The four axes of an original shape, by name.
struct Image {
  std::uint64_t n, c, h, w;
};

// Puts the axes in the order of the format.
HostLayout laid_out(std::string_view format, TiledAxis n, TiledAxis c, TiledAxis h, TiledAxis w) {
  if (format == "HWCN") return {format, {h, w, c, n}};
  return format == "NHWC" ? HostLayout{format, {n, h, w, c}} : HostLayout{format, {n, c, h, w}};
}

std::optional<HostLayout> of_nc1hwc0(std::string_view format, const Shape& device, const Image& image) {
  if (device.size() != 5) return std::nullopt;
  const std::uint64_t c1 = device[1], h = device[2], w = device[3], c0 = device[4];
  if (device[0] != image.n || h != image.h || w != image.w || !fills(image.c, c1, c0)) return std::nullopt;
  return laid_out(format, plain(image.n, c1 * h * w * c0), {image.c, c0, h * w * c0, 1}, plain(h, w * c0),
                  plain(w, c0));
}

// For an image with depth.
std::optional<HostLayout> of_ndc1hwc0(const Shape& device, const Shape& original, std::string_view original_format) {
  constexpr std::size_t kAxes = 6;
  if (device.size() != kAxes || original.size() != kAxes - 1) return std::nullopt;
  const std::uint64_t d = device[1], c1 = device[2], h = device[3], w = device[4], c0 = device[5];
  const auto fits = [&](std::uint64_t c, const std::array<std::uint64_t, 4>& others) {
    return fills(c, c1, c0) && others == std::array{device[0], d, h, w};
  };
  const TiledAxis n = plain(device[0], d * c1 * h * w * c0), depth = plain(d, c1 * h * w * c0),
                  height = plain(h, w * c0), width = plain(w, c0);
  const auto channels = [&](std::uint64_t c) { return TiledAxis{c, c0, h * w * c0, 1}; };
  if (original_format != "NDHWC" && fits(original[1], {original[0], original[2], original[3], original[4]}))
    return HostLayout{"NCDHW", {n, channels(original[1]), depth, height, width}};
  if (original_format != "NCDHW" && fits(original[4], {original[0], original[1], original[2], original[3]}))
    return HostLayout{"NDHWC", {n, depth, height, width, channels(original[4])}};
  return std::nullopt;
}

std::optional<HostLayout> of_fractal_z(std::string_view format, const Shape& device, const Image& image) {
  if (device.size() != 4) return std::nullopt;
  const std::uint64_t n1 = device[1], n0 = device[2], c0 = device[3], fractals = n1 * n0 * c0;
  std::uint64_t places = 0;
  if (__builtin_mul_overflow(image.h, image.w, &places) || places == 0 || device[0] % places != 0) return std::nullopt;
  if (!fills(image.c, device[0] / places, c0) || !fills(image.n, n1, n0)) return std::nullopt;
  return laid_out(format, {image.n, n0, n0 * c0, c0}, {image.c, c0, places * fractals, 1},
                  plain(image.h, image.w * fractals), plain(image.w, fractals));
}

std::optional<HostLayout> of_fractal_nz(const Shape& device, const Shape& original) {
  constexpr std::size_t kBlockAxes = 4;
  if (device.size() < kBlockAxes || original.empty()) return std::nullopt;
  // A vector is a matrix of one row.
  const std::size_t batch = device.size() - kBlockAxes;
  const bool is_vector = original.size() == 1;
  if (is_vector ? batch != 0 : original.size() != batch + 2) return std::nullopt;
  if (!std::equal(device.begin(), device.begin() + static_cast<std::ptrdiff_t>(batch), original.begin()))
    return std::nullopt;
  const std::uint64_t n1 = device[batch], m1 = device[batch + 1], m0 = device[batch + 2], n0 = device[batch + 3];
  const std::uint64_t m = is_vector ? 1 : original[batch], n = original.back();
  if (!fills(m, m1, m0) || !fills(n, n1, n0)) return std::nullopt;
  HostLayout layout{.format = "ND", .axes = {}};
  std::uint64_t stride = n1 * m1 * m0 * n0;
  for (std::size_t i = batch; i-- > 0; stride *= device[i]) {
    layout.axes.insert(layout.axes.begin(), plain(device[i], stride));
  }
  if (!is_vector) layout.axes.push_back({m, m0, m0 * n0, n0});
  layout.axes.push_back({n, n0, m1 * m0 * n0, 1});
  return layout;
}

}  // namespace

std::optional<HostLayout> host_layout(std::string_view format, const Shape& device, const Shape& original,
                                      std::string_view original_format, std::int32_t groups) {
  if (format == "FRACTAL_NZ") return of_fractal_nz(device, original);
  if (format == "NDC1HWC0") return of_ndc1hwc0(device, original, original_format);
  const bool is_weights = format == "FRACTAL_Z";
  if (original.size() != 4 || (!is_weights && format != "NC1HWC0") || (is_weights && groups > 1)) return std::nullopt;
  const std::pair<std::string_view, Image> readings[] = {
      {"NCHW", {original[0], original[1], original[2], original[3]}},
      {"NHWC", {original[0], original[3], original[1], original[2]}},
      {"HWCN", {original[3], original[2], original[0], original[1]}}};
  for (const auto& [name, image] : readings) {
    const bool is_told = original_format == "NCHW" || original_format == "NHWC" || original_format == "HWCN";
    if (is_told ? original_format != name : name == "HWCN") continue;
    if (auto layout = is_weights ? of_fractal_z(name, device, image) : of_nc1hwc0(name, device, image)) return layout;
  }
  return std::nullopt;
}

}  // namespace tensorstat
