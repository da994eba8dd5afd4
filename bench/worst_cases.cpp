// Data that is hard on exact sums, beside N(0, 1) in the same group.
#include "bench/contest.hpp"
#include "bench/data.hpp"

namespace tensorstat::bench {

void enter_worst_cases() {
  constexpr std::uint64_t kBytes = 32 << 20;
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kFloat64}) {
    const std::string group = "worst/" + std::string(name(dtype)) + "/" + bytes_name(kBytes);
    for (const Lane& lane : kLanes) {
      for (const Kind kind :
           {Kind::kNormal, Kind::kLogUniform, Kind::kSubnormal, Kind::kNanLaden, Kind::kMaxima}) {
        enter_measure(
            group, lane, kBytes, 1, [=] { return std::vector{make(dtype, kBytes, kind)}; },
            value(categories_from(kTen)), ":" + std::string(name(kind)));
      }
    }
  }
}

}  // namespace tensorstat::bench
