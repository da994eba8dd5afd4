#include "stats/core/engine/needs.hpp"

#include <tensorstat/catalog.inc>

namespace tensorstat {

#define ROW(id, name, column, kind, in_all, of_complex, needs, ...) needs,
const Needs kCategoryNeeds[kCategoryCount] = {TENSORSTAT_CATEGORIES(ROW)};
#undef ROW
#define ROW(id, name, column, kind, in_all, of_complex, needs, ...) needs
const Needs kQuantileNeeds = TENSORSTAT_QUANTILE(ROW);
#undef ROW

}  // namespace tensorstat
