// From a partial's words to values, each rounded once.
#pragma once

#include <cstdint>
#include <span>

#include <tensorstat/partial.hpp>

#include "stats/engine/quantile_bins.hpp"

namespace tensorstat {

// A partial seen from outside: its words in any state of carry.
struct PartialView {
  Dtype dtype;
  Precision precision;
  Needs needs;
  std::span<const std::int64_t> words;
  BinsView bins{};
};

// As Partial::finish, and as Partial::finish_binary32 where `to_binary32`.
Value finish(const PartialView& partial, Category category, bool to_binary32 = false);

// Those of many categories, of which the partial keeps all but digests, into as many values, which need not have been
// constructed. Allocates nothing but lists.
void finish(const PartialView& partial, std::span<const Category> categories, Value* values);

}  // namespace tensorstat
