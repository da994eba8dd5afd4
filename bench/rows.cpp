// The ten statistics for each channel, compared with one row for the same bytes.
#include <memory>
#include <string>

#include "bench/contest.hpp"
#include "bench/data.hpp"

namespace tensorstat::bench {

void enter_rows() {
  constexpr std::uint64_t kBytes = 32 << 20;
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kFloat64}) {
    const std::string group = "rows/" + std::string(name(dtype)) + "/" + bytes_name(kBytes);
    for (const Lane& lane : kLanes) {
      if (lane.on == On::kDevice) continue;  // columns are computed on the host
      enter_measure(
          group, lane, kBytes, 1, [=] { return std::vector{make(dtype, kBytes)}; }, value(categories_from(kTen)),
          ":ten");
      for (const std::uint64_t channels : {64, 4096}) {
        for (const bool is_outer : {true, false}) {
          const std::string variant =
              std::string(lane.name) + (is_outer ? ":outer-" : ":inner-") + std::to_string(channels);
          enter(group, "tensorstat:" + variant, kBytes, 1, [=, &lane] {
            const Tensor tensor = make(dtype, kBytes);
            By by{.shape = {channels, tensor.element_count / channels}, .axes = {0}};
            if (!is_outer) by = {.shape = {tensor.element_count / channels, channels}, .axes = {1}};
            return Contestant{[=, &lane, request = Request{value(categories_from(kTen)), Precision::kHigh, lane.on}] {
              benchmark::DoNotOptimize(value(meter(lane).measure_by(tensor, by, request)).size());
            }};
          });
        }
      }
    }
  }
}

}  // namespace tensorstat::bench
