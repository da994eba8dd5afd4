#include <tensorstat/pair.hpp>

#include "tests/fuzz/parsed_partial.hpp"

namespace tensorstat::fuzz {
namespace {

void finish(const PairPartial& partial) {
  for (int i = 0; i < kPairStatisticCount; ++i) {
    const auto statistic = static_cast<PairStatistic>(i);
    const Value value = partial.finish(statistic);
    if (value.index() == 0) continue;
    demand(std::holds_alternative<double>(value) == (kind(statistic) == PairValueKind::kReal),
           "a value is of its kind");
  }
}

}  // namespace

void pair_partial(Input bytes) { parse_and_merge<PairPartial>(bytes, finish); }

}  // namespace tensorstat::fuzz
