// Whether a row of statistics shows NaN or Inf. Nothing else decides this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tensorstat/statistics.hpp>

namespace tensorstat {

// The statistics that are NaN or Inf themselves if elements are. They judge rows without the counts.
inline constexpr Category kTelling[] = {Category::kMax,    Category::kMin,    Category::kAvg,
                                        Category::kL2norm, Category::kAbsmax, Category::kRms,
                                        Category::kL1norm, Category::kStd,    Category::kVar};

// How many elements are NaN or infinite. nullopt: some, and the row does not say how many.
//
// NaN: the count decides. A row without it has NaN if a value of kTelling is NaN or if it has a first NaN index. avg is
// also NaN if both Inf occur, std and var if one does: these show no NaN if another statistic denies it. A norm that is
// no NaN does, and so do max Inf with min -Inf. std and var are also denied by an extremum that is Inf, and by avg.
// Inf: the count of each sign decides for this sign. Without it max, min, absmax and the first Inf index decide. Sums,
// norms and means decide in rows without these: they overflow of finite elements if a device adds in the dtype of the
// tensor.
struct Specials {
  std::optional<std::uint64_t> nan = 0, inf = 0;
  bool is_nan_known = false, is_inf_known = false;   // the row has a value that would show it
  bool has_plus_inf = false, has_minus_inf = false;  // both false if the Inf has no sign, as from l2norm
  std::optional<Category> nan_by, inf_by;            // the statistic that shows it

  bool has_nan() const { return nan != 0u; }
  bool has_inf() const { return inf != 0u; }
  bool any() const { return has_nan() || has_inf(); }
};
Specials specials_of(const StatisticsView& statistics);

// Whether the category counts NaN, Inf or -Inf.
bool counts_specials(Category category);

// Whether rows that have these categories tell of what `count` counts.
bool can_tell(Category count, std::span<const Category> categories);

}  // namespace tensorstat
