#include "stats/compare/msprobe/pairing.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace tensorstat::msprobe {
namespace {

// How dtypes of two frameworks compare: as "int", "float", "bool" or "complex". Any other dtype keeps its name.
std::string_view family_of(std::string_view dtype) {
  struct Family {
    std::string_view word, name;
  };
  constexpr Family kFamilies[] = {{"int8", "int"},      {"uint8", "int"},         {"int16", "int"},
                                  {"uint16", "int"},    {"int32", "int"},         {"uint32", "int"},
                                  {"int64", "int"},     {"uint64", "int"},        {"float16", "float"},
                                  {"float32", "float"}, {"float64", "float"},     {"bfloat16", "float"},
                                  {"bool", "bool"},     {"complex64", "complex"}, {"complex128", "complex"}};
  std::string lower(dtype.starts_with("torch.") ? dtype.substr(6) : dtype);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto found = std::ranges::find(kFamilies, std::string_view(lower), &Family::word);
  return found == std::end(kFamilies) ? dtype : found->name;
}

bool may_pair(const std::string& npu, const std::string& bench, bool is_cross_framework) {
  if (is_cross_framework ? family_of(npu) == family_of(bench) : npu == bench) return true;
  constexpr std::array<std::string_view, 3> kFloats[] = {{"Float16", "Float32", "BFloat16"},
                                                         {"torch.float16", "torch.float32", "torch.bfloat16"}};
  return std::ranges::any_of(kFloats, [&](const auto& floats) {
    return std::ranges::count(floats, npu) != 0 && std::ranges::count(floats, bench) != 0;
  });
}

struct Held {
  bool are_numbers = true, has_float = false;
};

// If the cells of a column, in the rows that `counts` picks, are all numbers and one is a float, all become floats.
template <typename Counts>
Held settle_column(std::vector<ComparedRow>& rows, Statistics ComparedRow::*side, std::size_t column,
                   const Counts& counts) {
  Held held;
  for (const ComparedRow& row : rows) {
    if (!counts(row)) continue;
    const PythonValue& value = (row.*side)[column];
    held.are_numbers &= is_int(value) || is_float(value);
    held.has_float |= is_float(value);
  }
  if (!held.are_numbers || !held.has_float) return held;
  for (ComparedRow& row : rows) {
    if (counts(row)) (row.*side)[column] = as_double((row.*side)[column]);
  }
  return held;
}

void settle_side(std::vector<ComparedRow>& rows, Statistics ComparedRow::*side) {
  Held all;
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    const Held held = settle_column(rows, side, i, [](const ComparedRow&) { return true; });
    all.are_numbers &= held.are_numbers;
    all.has_float |= held.has_float;
  }
  if (!all.are_numbers || !all.has_float) return;
  for (ComparedRow& row : rows) {
    for (PythonValue& value : row.*side) value = as_double(value);
  }
}

}  // namespace

void pair_items(Comparison& comparison) {
  const std::vector<Item>& bench = comparison.bench.items;
  const bool is_cross_framework = comparison.npu.framework != comparison.bench.framework;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_key;
  for (std::uint32_t i = 0; i < bench.size(); ++i) by_key[bench[i].key].push_back(i);
  std::vector<bool> is_taken(bench.size());
  comparison.rows.reserve(comparison.npu.items.size());
  const auto add = [&](const Item& npu, const Item* partner) {
    ComparedRow row{.npu = &npu, .bench = partner, .npu_statistics = npu.statistics};
    if (partner) {
      row.bench_statistics = partner->statistics;
    } else {
      row.bench_statistics.fill(kNotAvailable);
      ++comparison.unmatched_count;
    }
    comparison.rows.push_back(std::move(row));
  };
  for (const Item& npu : comparison.npu.items) {
    const auto partners = by_key.find(npu.key);
    if (partners == by_key.end()) {
      add(npu, nullptr);
      continue;
    }
    for (const std::uint32_t at : partners->second) {
      const bool is_partner = may_pair(npu.dtype, bench[at].dtype, is_cross_framework);
      if (is_partner) is_taken[at] = true;
      add(npu, is_partner ? &bench[at] : nullptr);
    }
  }
  comparison.unmatched_count += static_cast<std::uint64_t>(std::ranges::count(is_taken, false));
}

void settle_types(std::vector<ComparedRow>& rows) {
  settle_side(rows, &ComparedRow::npu_statistics);
  settle_side(rows, &ComparedRow::bench_statistics);
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    settle_column(rows, &ComparedRow::npu_statistics, i, [](const ComparedRow& row) { return row.bench == nullptr; });
  }
}

}  // namespace tensorstat::msprobe
