// Computes values from a partial's words, each rounded once.
#pragma once

#include <cstdint>
#include <span>

#include "stats/core/engine/needs.hpp"
#include "stats/core/engine/quantile_bins.hpp"

namespace tensorstat {

// A view of a partial. Carries between its words need not be propagated.
struct PartialView {
  Dtype dtype;
  Precision precision;
  Needs needs;
  std::span<const std::int64_t> words;
  BinsView bins{};
};

// As Partial::finish; with `to_binary32`, as Partial::finish_binary32.
Value finish(const PartialView& partial, Category category, bool to_binary32 = false);

// Finishes many categories into `values`, one each, which need not have been constructed. The partial must keep all
// categories except digests. Only lists allocate memory.
void finish(const PartialView& partial, std::span<const Category> categories, Value* values);

}  // namespace tensorstat
