// Errors, names and values of <tensorstat/core.h>.
#include <algorithm>

#include "stats/bindings/c/support.hpp"

using namespace tensorstat;

const char* tensorstat_last_error(void) { return c::last_error(); }

const char* tensorstat_version(void) { return TENSORSTAT_VERSION; }

int32_t tensorstat_dtype_named(const char* name) {
  const auto dtype = name == nullptr ? std::nullopt : dtype_from(name);
  return dtype ? static_cast<int32_t>(*dtype) : -1;
}

int32_t tensorstat_statistic_named(const char* name) {
  const auto category = name == nullptr ? std::nullopt : category_from(name);
  return category ? static_cast<int32_t>(*category) : -1;
}

tensorstat_code tensorstat_statistics_named(const char* names, int32_t* numbers, size_t room, size_t* count) {
  return c::guarded([&]() -> tensorstat_code {
    if (count == nullptr) return c::failed({Code::kInvalid, "the pointer for the count is NULL"});
    const auto categories = categories_from(names == nullptr ? "" : names);
    if (!categories) return c::failed(categories.error());
    *count = categories->size();
    if (room == 0 && numbers == nullptr) return TENSORSTAT_OK;
    if (room < categories->size() || numbers == nullptr) {
      return c::failed(
          {Code::kInvalid, std::to_string(categories->size()) + " statistics do not fit into the room given"});
    }
    std::ranges::transform(*categories, numbers, [](Category each) { return static_cast<int32_t>(each); });
    return TENSORSTAT_OK;
  });
}

// The catalog's names are literals, and quantiles' names are kept with a final 0.
const char* tensorstat_dtype_name(int32_t dtype) {
  return dtype >= 0 && dtype < kDtypeCount ? name(static_cast<Dtype>(dtype)).data() : nullptr;
}

const char* tensorstat_statistic_name(int32_t statistic) try {
  const bool is_one = statistic >= 0 && is_category(static_cast<std::uint32_t>(statistic));
  return is_one ? name(static_cast<Category>(statistic)).data() : nullptr;
} catch (...) {  // no memory for the name of a quantile that is used for the first time
  return nullptr;
}

uint32_t tensorstat_dtype_bytes(int32_t dtype) {
  return dtype >= 0 && dtype < kDtypeCount ? size_bytes(static_cast<Dtype>(dtype)) : 0;
}

uint32_t tensorstat_dtype_elements_a_byte(int32_t dtype) {
  return dtype >= 0 && dtype < kDtypeCount ? elements_a_byte(static_cast<Dtype>(dtype)) : 0;
}

size_t tensorstat_value_text(const tensorstat_value* value, char* text, size_t room) {
  std::string whole;
  try {
    if (value != nullptr) {
      switch (value->kind) {
        case TENSORSTAT_UNSIGNED:
          whole = to_string(Value(std::uint64_t{value->is.whole}));
          break;
        case TENSORSTAT_SIGNED:
          whole = to_string(Value(std::int64_t{value->is.whole_signed}));
          break;
        case TENSORSTAT_REAL:
          whole = to_string(Value(value->is.real));
          break;
        case TENSORSTAT_DIGEST:
          whole = to_string(
              Digest(std::as_bytes(std::span(value->is.bytes)).first(std::min<std::size_t>(value->byte_count, 20))));
          break;
        case TENSORSTAT_EXPONENTS:
          whole = to_string(Exponents(*c::exponents_of(value)));
          break;
        default:
          break;
      }
    }
  } catch (...) {
    whole.clear();
  }
  return c::put_text(whole, text, room);
}

uint64_t tensorstat_exponents_count(const tensorstat_value* value, int32_t which) {
  const ExponentCounts* const counts = c::exponents_of(value);
  if (counts == nullptr) return 0;
  switch (which) {
    case TENSORSTAT_ZERO:
      return counts->zero;
    case TENSORSTAT_SUBNORMAL:
      return counts->subnormal;
    case TENSORSTAT_INF:
      return counts->inf;
    case TENSORSTAT_NAN:
      return counts->nan;
    default:
      return 0;
  }
}

size_t tensorstat_exponents_binade_count(const tensorstat_value* value) {
  const ExponentCounts* const counts = c::exponents_of(value);
  return counts == nullptr ? 0 : counts->binades.size();
}

uint64_t tensorstat_exponents_binade(const tensorstat_value* value, size_t index, int32_t* exponent) {
  if (index >= tensorstat_exponents_binade_count(value)) return 0;
  const ExponentCounts::Binade& binade = c::exponents_of(value)->binades[index];
  if (exponent != nullptr) *exponent = binade.exponent;
  return binade.count;
}
