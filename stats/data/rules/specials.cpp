#include "stats/data/rules/specials.hpp"

#include <algorithm>
#include <cmath>

#include "stats/data/rules/comparison.hpp"

namespace tensorstat {
namespace {

class SpecialsReader {
 public:
  explicit SpecialsReader(const StatisticsView& statistics) : statistics_(statistics) {}

  Specials specials() {
    read_nan();
    read_inf();
    return found_;
  }

 private:
  std::optional<std::uint64_t> count_in(Category category) const {
    const Value* const value = statistics_.find(category);
    const auto* count = value ? std::get_if<std::uint64_t>(value) : nullptr;
    return count ? std::optional(*count) : std::nullopt;
  }
  const ExponentCounts* exponents() const {
    const Value* const value = statistics_.find(Category::kExponents);
    const auto* exponents = value ? std::get_if<Exponents>(value) : nullptr;
    return exponents ? &**exponents : nullptr;
  }
  std::optional<double> real(Category category) const { return as_double(statistics_.find(category)); }
  bool is(Category category, double wanted) const { return real(category) == wanted; }

  // Whether a mean or a deviation is NaN without a NaN among the elements: of Inf, as other statistics show.
  bool is_nan_of_inf(Category nan) const {
    if (nan != Category::kAvg) {
      if (const auto mean = real(Category::kAvg); mean && !std::isnan(*mean)) return true;
      for (const Category extremum : {Category::kMax, Category::kMin, Category::kAbsmax}) {
        const auto number = real(extremum);
        if (number && std::isinf(*number)) return true;
      }
    }
    if (is(Category::kMax, HUGE_VAL) && is(Category::kMin, -HUGE_VAL)) return true;
    for (const Category norm : {Category::kL2norm, Category::kRms, Category::kL1norm}) {
      if (const auto number = real(norm)) return !std::isnan(*number);
    }
    return false;
  }

  void read_nan() {
    const auto counted = count_in(Category::kNanCount);
    if (counted || exponents() != nullptr) {
      found_.nan = counted ? *counted : exponents()->nan;
      found_.is_nan_known = true;
      if (found_.has_nan()) found_.nan_by = counted ? Category::kNanCount : Category::kExponents;
      return;
    }
    if (count_in(Category::kFirstNanIndex)) return show_nan(Category::kFirstNanIndex);
    found_.is_nan_known = statistics_.find(Category::kFirstNanIndex) != nullptr;
    for (const Category category : kTelling) {
      const auto number = real(category);
      if (!number) continue;
      found_.is_nan_known = true;
      const bool is_mean = category == Category::kAvg || category == Category::kStd || category == Category::kVar;
      if (std::isnan(*number) && !(is_mean && is_nan_of_inf(category))) return show_nan(category);
    }
  }

  void show_nan(Category category) {
    found_.is_nan_known = true;
    found_.nan = std::nullopt;
    found_.nan_by = category;
  }

  // Reads one sign: its count, or else the extrema that show it.
  void read_sign(Category count, double inf, bool& has) {
    if (const auto number = count_in(count)) {
      has = *number != 0;
      found_.is_inf_known = true;
      if (has && found_.inf) found_.inf = *found_.inf + *number;
      if (has && !found_.inf_by) found_.inf_by = count;
      return;
    }
    for (const Category category : {Category::kMax, Category::kMin}) {
      if (has || !is(category, inf)) continue;
      has = true;
      show_inf(category);
    }
  }

  void read_inf() {
    if (exponents() != nullptr) {
      found_.is_inf_known = true;
      found_.inf = exponents()->inf;
      if (found_.has_inf()) found_.inf_by = Category::kExponents;
    }
    const bool is_counted = count_in(Category::kPositiveInfCount) && count_in(Category::kNegativeInfCount);
    if (is_counted) found_.inf = 0;  // the same number, and its signs
    if (is_counted || exponents() == nullptr) {
      read_sign(Category::kPositiveInfCount, HUGE_VAL, found_.has_plus_inf);
      read_sign(Category::kNegativeInfCount, -HUGE_VAL, found_.has_minus_inf);
    }
    if (is_counted || exponents() != nullptr) return;
    if (is(Category::kAbsmax, HUGE_VAL) && !found_.has_inf()) show_inf(Category::kAbsmax);
    if (count_in(Category::kFirstInfIndex) && !found_.has_inf()) show_inf(Category::kFirstInfIndex);
    found_.is_inf_known |= statistics_.find(Category::kFirstInfIndex) != nullptr;
    bool has_better = found_.is_inf_known;
    for (const Category category : {Category::kMax, Category::kMin, Category::kAbsmax}) {
      has_better |= real(category).has_value();
    }
    for (const Category category : kTelling) {
      const auto number = real(category);
      if (!number) continue;
      found_.is_inf_known = true;
      if (has_better || !std::isinf(*number) || found_.has_inf()) continue;
      if (category == Category::kAvg) (*number > 0 ? found_.has_plus_inf : found_.has_minus_inf) = true;
      show_inf(category);
    }
  }

  void show_inf(Category category) {
    found_.is_inf_known = true;
    found_.inf = std::nullopt;
    if (!found_.inf_by) found_.inf_by = category;
  }

  const StatisticsView& statistics_;
  Specials found_;
};

}  // namespace

Specials specials_of(const StatisticsView& statistics) { return SpecialsReader(statistics).specials(); }

bool counts_specials(Category category) {
  return category == Category::kNanCount || category == Category::kNegativeInfCount ||
         category == Category::kPositiveInfCount;
}

bool can_tell(Category count, std::span<const Category> categories) {
  const Category index = count == Category::kNanCount ? Category::kFirstNanIndex : Category::kFirstInfIndex;
  return std::ranges::any_of(categories, [&](Category category) {
    return category == count || category == index || category == Category::kExponents ||
           std::ranges::count(kTelling, category) != 0;
  });
}

}  // namespace tensorstat
