#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>
#include <tensorstat/catalog.hpp>
#include <tensorstat/catalog.inc>

#include "precision/dtypes.hpp"
#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/nearest_names.hpp"
#include "stats/core/base/typed_name.hpp"

namespace tensorstat {
namespace {

struct CategoryRow {
  std::string_view name, column;
  ValueKind kind;
  bool in_all, of_complex;
  std::string_view formula, nan_rule;
};

// Names that other tools use for a category: msprobe, PyTorch, TransformerEngine. They are accepted and never written.
struct Alias {
  std::string_view typed, name;
};
constexpr Alias kAliases[] = {{"mean", "avg"},       {"norm", "l2norm"},     {"l2", "l2norm"},
                              {"amax", "absmax"},    {"cur_amax", "absmax"}, {"l1_norm", "l1norm"},
                              {"l2_norm", "l2norm"}, {"nan", "nan count"}};

// Names of TransformerEngine's LogFp8TensorStats without a category here, with a text that says how to get the number.
struct Hint {
  std::string_view typed, answer;
};
constexpr Hint kHints[] = {
    {"underflows%", "100 * 'e4m3fn underflow' / count, or of another format; a scale other than 1 is asked with it"},
    {"overflows%",
     "100 * 'e4m3fn overflow' / count, or of another format, which are the elements that leave the range when "
     "cast and not all above the greatest value"},
    {"scale_inv_min", "the scales are a tensor of their own: ask for its min"},
    {"scale_inv_max", "the scales are a tensor of their own: ask for its max"},
    {"mse", "of two tensors: the square of their rmse"},
    {"max_blockwise_dynamic_range", "the greatest 'dynamic range' of the rows that a block of 32 elements makes"}};

// The hint for an unknown name, or "".
std::string_view hint_of(std::string_view typed) {
  for (const Hint& hint : kHints) {
    if (typed == hint.typed) return hint.answer;
  }
  return {};
}

std::string_view without_alias(std::string_view typed) {
  const auto alias = std::ranges::find(kAliases, typed, &Alias::typed);
  return alias == std::end(kAliases) ? typed : alias->name;
}

#define TENSORSTAT_ROW(id, name, column, kind, in_all, of_complex, needs, formula, nan_rule, ...) \
  CategoryRow{name, column, ValueKind::kind, in_all != 0, of_complex != 0, formula, nan_rule},
constexpr std::array kCategoryRows = {TENSORSTAT_CATEGORIES(TENSORSTAT_ROW)};
constexpr std::array kQuantileRows = {TENSORSTAT_QUANTILE(TENSORSTAT_ROW)};
#undef TENSORSTAT_ROW

// catalog_ids.hpp lists the same ids in the same order.
#define TENSORSTAT_ROW(id, ...) Category::id,
constexpr std::array kRowIds = {TENSORSTAT_CATEGORIES(TENSORSTAT_ROW)};
#undef TENSORSTAT_ROW
constexpr bool ids_are_positions() {
  for (std::size_t i = 0; i < kRowIds.size(); ++i) {
    if (kRowIds[i] != static_cast<Category>(i)) return false;
  }
  return kRowIds.size() == std::size_t{kCategoryCount};
}
static_assert(ids_are_positions());

using precision::kDtypeFacts;

const CategoryRow& row(Category category) {
  return is_quantile(category) ? kQuantileRows[0] : kCategoryRows[static_cast<std::size_t>(category)];
}
const precision::DtypeFacts& row(Dtype dtype) { return kDtypeFacts[static_cast<int>(dtype)]; }

// The names nearest to an unknown one, for the end of an error message.
std::string nearest_to(std::string_view typed) {
  std::vector<std::string> names;
  for (const CategoryRow& each : kCategoryRows) names.emplace_back(each.name);
  for (const Alias& each : kAliases) names.emplace_back(each.typed);
  std::string text;
  for (const std::string& each : nearest_names(typed, names)) text.append(text.empty() ? "" : ", ").append(each);
  return text;
}

// The names of a quantile. They are made at the first use and kept, because name() returns a view. There are few of
// them.
struct QuantileNames {
  explicit QuantileNames(Category category) : quantile(category) {
    char* end = std::to_chars(name.data() + 1, name.data() + name.size(), thousandths(quantile) / 1000).ptr;
    if (std::uint32_t rest = thousandths(quantile) % 1000; rest != 0) {
      for (*end++ = '.'; rest != 0; rest = rest % 100 * 10) *end++ = static_cast<char>('0' + rest / 100);
    }
    length = static_cast<std::size_t>(end - name.data());
    column = name;
    name[0] = 'p';
    column[0] = 'P';
  }

  Category quantile;
  std::array<char, 8> name{}, column{};  // room for the longest, "p99.999", and a final 0
  std::size_t length = 0;
  const QuantileNames* next = nullptr;
};

const QuantileNames& names_of(Category quantile) {
  static std::atomic<const QuantileNames*> first = nullptr;
  const auto known = [quantile](const QuantileNames* from, const QuantileNames* to) {
    while (from != to && from->quantile != quantile) from = from->next;
    return from == to ? nullptr : from;
  };
  const QuantileNames* seen = first.load();
  if (const auto* const names = known(seen, nullptr)) return *names;
  auto made = std::make_unique<QuantileNames>(quantile);
  for (made->next = seen; !first.compare_exchange_weak(made->next, made.get()); seen = made->next) {
    if (const auto* const names = known(made->next, seen)) return *names;
  }
  return *made.release();
}

// Parses "99.9" and the like: no leading zero, and up to three digits after the point.
std::optional<Category> quantile_of(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point), decimals = text.substr(std::min(point + 1, text.size()));
  const auto is_number = [](std::string_view digits, std::size_t most) {
    return !digits.empty() && digits.size() <= most && digits.find_first_not_of("0123456789") == digits.npos;
  };
  if (!is_number(whole, 3) || (whole.size() > 1 && whole[0] == '0')) return std::nullopt;
  if (point != text.size() && !is_number(decimals, 3)) return std::nullopt;
  std::uint32_t thousandths = 0;
  for (const char digit : whole) thousandths = 10 * thousandths + static_cast<std::uint32_t>(digit - '0');
  for (std::size_t i = 0; i < 3; ++i) {
    thousandths = 10 * thousandths + static_cast<std::uint32_t>(i < decimals.size() ? decimals[i] - '0' : 0);
  }
  if (thousandths > kMostThousandths) return std::nullopt;
  return names_of(quantile(thousandths)).quantile;  // so that name() need not allocate
}

}  // namespace

std::string_view name(Category category) {
  if (!is_quantile(category)) return row(category).name;
  const QuantileNames& names = names_of(category);
  return {names.name.data(), names.length};
}
std::string_view column(Category category) {
  if (!is_quantile(category)) return row(category).column;
  const QuantileNames& names = names_of(category);
  return {names.column.data(), names.length};
}
ValueKind kind(Category category) { return row(category).kind; }
std::string_view formula(Category category) { return row(category).formula; }
std::string_view nan_rule(Category category) { return row(category).nan_rule; }
std::string_view name(Dtype dtype) { return row(dtype).name; }
bool is_float(Dtype dtype) { return row(dtype).is_float; }
std::optional<double> greatest_finite(Dtype dtype) {
  const precision::DtypeFacts& format = row(dtype);
  if (!format.is_float || format.is_complex) return std::nullopt;
  const std::uint64_t bits = format.largest - format.has_inf;  // never subnormal
  const std::uint64_t hidden = std::uint64_t{1} << format.mantissa_shift;
  const auto exponent = static_cast<int>(bits >> format.mantissa_shift);
  return std::ldexp(static_cast<double>(hidden | (bits & (hidden - 1))),
                    exponent - 1 + format.first_unit + format.sum_exponent);
}
bool has(Dtype dtype, Category category) { return !is_complex(dtype) || row(category).of_complex; }
std::string_view name(Precision precision) { return precision == Precision::kHigh ? "high" : "low"; }

std::optional<Category> category_from(std::string_view text) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (is_typed_name(text, kCategoryRows[i].name)) return static_cast<Category>(i);
  }
  return text.starts_with('p') ? quantile_of(text.substr(1)) : std::nullopt;
}

std::optional<Category> category_of_column(std::string_view heading) {
  const auto row = std::ranges::find(kCategoryRows, heading, &CategoryRow::column);
  if (row != kCategoryRows.end()) return static_cast<Category>(row - kCategoryRows.begin());
  const auto quantile = heading.starts_with('P') ? quantile_of(heading.substr(1)) : std::nullopt;
  return quantile && column(*quantile) == heading ? quantile : std::nullopt;
}

std::optional<Dtype> dtype_from(std::string_view text) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (text == kDtypeFacts[i].name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

Result<Categories> categories_from(std::string_view comma_separated) try {
  const FloatEnvironment ieee;
  if (comma_separated.empty())
    return Error{Code::kInvalid, "no statistic is named: expected names such as max,nan count"};
  Categories categories;
  std::string unknown, nearest;
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
    } else if (word == "inf") {
      add(Category::kNegativeInfCount);
      add(Category::kPositiveInfCount);
    } else {
      if (unknown.empty()) nearest = nearest_to(word);
      unknown.append(unknown.empty() ? "'" : ", '").append(word).append("'");
      if (word.size() > 1 && word[0] == 'p' && word[1] >= '0' && word[1] <= '9')
        unknown.append(" (pN has 0 <= N <= 100 with at most three decimals)");
      if (const auto hint = hint_of(word); !hint.empty()) unknown.append(" (it is ").append(hint).append(")");
    }
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (unknown.empty()) return categories;
  return Error{Code::kInvalid, "unknown statistic " + unknown + "; the nearest names are " + nearest};
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

Categories usual_quantiles() {
  return {quantile(100),    quantile(1'000),  quantile(5'000),  quantile(25'000), quantile(50'000),
          quantile(75'000), quantile(95'000), quantile(99'000), quantile(99'900)};
}

std::string version() { return TENSORSTAT_VERSION; }

}  // namespace tensorstat
