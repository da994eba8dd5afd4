// Further statistics in one pass, compared with the ten statistics alone in the same group.
#include <string>

#include "bench/contest.hpp"
#include "bench/data.hpp"

namespace tensorstat::bench {
namespace {

const std::string kElements = ",absmin,subnormal-count,minus-zero-count";
const std::string kFinite = ",finite-max,finite-min,finite-avg,finite-l2norm";
const std::string kWhere = ",first-nan-index,first-inf-index,first-bad-index,argmax,argmin";
const std::string kCasts =
    ",e4m3fn-underflow,e4m3fn-overflow,e5m2-underflow,e5m2-overflow,float16-underflow,float16-overflow,"
    "bfloat16-underflow,bfloat16-overflow";

}  // namespace

void enter_beside() {
  constexpr std::uint64_t kBytes = 32 << 20;
  for (const Dtype dtype : {Dtype::kInt8, Dtype::kInt64, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32,
                            Dtype::kFloat64, Dtype::kFloat8E4m3fn}) {
    const std::string group = "beside/" + std::string(name(dtype)) + "/" + bytes_name(kBytes);
    for (const Lane& lane : kLanes) {
      const auto enter_pass = [&](const std::string& more, Kind kind, const char* suffix) {
        enter_measure(
            group, lane, kBytes, 1, [=] { return std::vector{make(dtype, kBytes, kind)}; },
            value(categories_from(kTen + more)), suffix);
      };
      enter_pass("", Kind::kNormal, ":ten");
      enter_pass(kFinite, Kind::kNormal, ":finite");
      enter_pass(kWhere, Kind::kNormal, ":where");
      enter_pass(kElements + kFinite + kWhere, Kind::kNormal, ":all");
      enter_pass(kCasts, Kind::kNormal, ":casts");
      enter_pass(",crc32", Kind::kNormal, ":crc32");
      enter_pass(",xor64", Kind::kNormal, ":xor64");
      enter_pass(",exponents", Kind::kNormal, ":exponents");
      enter_pass(",p1,p50,p99,p99.9", Kind::kNormal, ":quantiles");
      if (!is_float(dtype) || size_bytes(dtype) == 1) continue;
      enter_pass(kElements + kFinite + kWhere, Kind::kAscending, ":ascending");
      enter_pass(",exponents", Kind::kLogUniform, ":scattered");
    }
  }
}

}  // namespace tensorstat::bench
