#include <algorithm>
#include <array>
#include <tensorstat/catalog.hpp>

#include "precision/formats.h"
#include "stats/core/caught.hpp"
#include "stats/core/typed_name.hpp"

namespace tensorstat {
namespace {

struct CategoryRow {
  std::string_view name, column;
  ValueKind kind;
  bool in_all;
  std::string_view formula, nan_rule;
};

// What other tools call a category: msprobe, PyTorch, TransformerEngine. Typed, and never written.
struct Alias {
  std::string_view typed, name;
};
constexpr Alias kAliases[] = {{"mean", "avg"}, {"norm", "l2norm"}, {"l2", "l2norm"}, {"amax", "absmax"}};

std::string_view without_alias(std::string_view typed) {
  const auto alias = std::ranges::find(kAliases, typed, &Alias::typed);
  return alias == std::end(kAliases) ? typed : alias->name;
}

struct DtypeRow {
  std::string_view name;
  bool has_specials;
};

#define TENSORSTAT_ROW(id, name, column, kind, in_all, needs, formula, nan_rule) \
  CategoryRow{name, column, ValueKind::kind, in_all != 0, formula, nan_rule},
constexpr std::array kCategoryRows = {TENSORSTAT_CATEGORIES(TENSORSTAT_ROW)};
#undef TENSORSTAT_ROW

#define TENSORSTAT_ROW(id, name, ...) DtypeRow{#name, CAT(IS_FLOAT_, FAMILY_OF(name)) != 0},
constexpr std::array kDtypeRows = {TENSORSTAT_DTYPES(TENSORSTAT_ROW)};
#undef TENSORSTAT_ROW

const CategoryRow& row(Category category) { return kCategoryRows[static_cast<int>(category)]; }
const DtypeRow& row(Dtype dtype) { return kDtypeRows[static_cast<int>(dtype)]; }

// Every catalog name in `rows`, for the end of an error message.
template <typename Rows>
std::string listed(const Rows& rows) {
  std::string names;
  for (const auto& each : rows) names.append(names.empty() ? "" : ", ").append(each.name);
  return names;
}

}  // namespace

std::string_view name(Category category) { return row(category).name; }
std::string_view column(Category category) { return row(category).column; }
ValueKind kind(Category category) { return row(category).kind; }
std::string_view formula(Category category) { return row(category).formula; }
std::string_view nan_rule(Category category) { return row(category).nan_rule; }
std::string_view name(Dtype dtype) { return row(dtype).name; }
bool is_float(Dtype dtype) { return row(dtype).has_specials; }
std::string_view name(Precision precision) {
  return precision == Precision::kHigh ? "high" : "low";
}

std::optional<Category> category_from(std::string_view text) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (is_typed_name(text, kCategoryRows[i].name)) return static_cast<Category>(i);
  }
  return std::nullopt;
}

std::optional<Dtype> dtype_from(std::string_view text) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (text == kDtypeRows[i].name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

Result<Categories> categories_from(std::string_view comma_separated) try {
  Categories categories;
  std::string unknown;
  const auto add = [&](Category category) {
    if (!std::ranges::count(categories, category)) categories.push_back(category);
  };
  for (std::string_view rest = comma_separated;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (const auto category = category_from(without_alias(word))) {
      add(*category);
    } else if (word == "all") {
      std::ranges::for_each(all_categories(), add);
    } else {
      unknown.append(unknown.empty() ? "'" : ", '").append(word).append("'");
    }
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (unknown.empty()) return categories;
  return Error{Code::kInvalid, "unknown statistic " + unknown + "; known are all, " +
                                   listed(kCategoryRows) + " (- or _ may stand for a space)"};
} catch (...) {
  return caught();
}

Categories all_categories() {
  Categories categories = every_category();
  std::erase_if(categories, [](Category category) { return !row(category).in_all; });
  return categories;
}

Categories every_category() {
  Categories categories;
  for (int i = 0; i < kCategoryCount; ++i) categories.push_back(static_cast<Category>(i));
  return categories;
}

std::string version() { return TENSORSTAT_VERSION; }

}  // namespace tensorstat
