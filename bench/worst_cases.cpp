// Data that is hard for exact sums, and data of a training step, compared with N(0, 1) in the same group.
#include "bench/contest.hpp"
#include "bench/data.hpp"

namespace tensorstat::bench {
namespace {

constexpr std::uint64_t kBytes = 32 << 20;

void enter_kinds(const std::string& prefix, Dtype dtype, std::initializer_list<Kind> kinds) {
  const std::string group = prefix + std::string(name(dtype)) + "/" + bytes_name(kBytes);
  for (const Lane& lane : kLanes) {
    for (const Kind kind : kinds) {
      enter_measure(
          group, lane, kBytes, 1, [=] { return std::vector{make(dtype, kBytes, kind)}; }, value(categories_from(kTen)),
          ":" + std::string(name(kind)));
    }
  }
}

}  // namespace

void enter_worst_cases() {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kFloat64}) {
    enter_kinds("worst/", dtype, {Kind::kNormal, Kind::kLogUniform, Kind::kSubnormal, Kind::kNanLaden, Kind::kMaxima});
  }
#define TENSORSTAT_KIND(id, name) Kind::id,
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32}) {
    enter_kinds("real/", dtype, {Kind::kNormal, TENSORSTAT_REAL_KINDS(TENSORSTAT_KIND)});
  }
#undef TENSORSTAT_KIND
}

}  // namespace tensorstat::bench
