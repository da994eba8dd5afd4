#include "stats/answer/msprobe/pairing.hpp"

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
  const auto family = std::ranges::find(kFamilies, std::string_view(lower), &Family::word);
  return family == std::end(kFamilies) ? dtype : family->name;
}

bool may_pair(const std::string& npu, const std::string& bench, bool is_cross_framework) {
  if (is_cross_framework ? family_of(npu) == family_of(bench) : npu == bench) return true;
  constexpr std::array<std::string_view, 3> kFloats[] = {{"Float16", "Float32", "BFloat16"},
                                                         {"torch.float16", "torch.float32", "torch.bfloat16"}};
  return std::ranges::any_of(kFloats, [&](const auto& floats) {
    return std::ranges::count(floats, npu) != 0 && std::ranges::count(floats, bench) != 0;
  });
}

// The rows of a comparison, as they come.
class PairedRows {
 public:
  PairedRows(Comparison& comparison, bool any_dtype)
      : comparison_(comparison),
        any_dtype_(any_dtype),
        is_cross_framework_(comparison.npu.framework != comparison.bench.framework),
        is_taken_(comparison.bench.items.size()) {
    comparison.rows.reserve(comparison.npu.items.size());
  }
  ~PairedRows() { comparison_.unmatched_count += static_cast<std::uint64_t>(std::ranges::count(is_taken_, false)); }
  PairedRows(const PairedRows&) = delete;
  PairedRows& operator=(const PairedRows&) = delete;

  // `partner` may be nullptr, and does not count if its dtype does not fit.
  void add(const Item& npu, const Item* partner) {
    if (partner && !any_dtype_ && !may_pair(npu.dtype, partner->dtype, is_cross_framework_)) partner = nullptr;
    ComparedRow row{.npu = &npu, .bench = partner, .npu_statistics = npu.statistics};
    if (partner) {
      is_taken_[static_cast<std::size_t>(partner - comparison_.bench.items.data())] = true;
      row.bench_statistics = partner->statistics;
    } else {
      row.bench_statistics.fill(kNotAvailable);
      ++comparison_.unmatched_count;
    }
    comparison_.rows.push_back(std::move(row));
  }

 private:
  Comparison& comparison_;
  const bool any_dtype_, is_cross_framework_;
  std::vector<bool> is_taken_;  // by item of the Bench
};

// The items of a side that wait for a partner: those from `begin` to `end`.
class Waiting {
 public:
  explicit Waiting(std::size_t ids) : places_(ids), heads_(ids) {}

  std::size_t begin = 0, end = 0;
  bool is_empty() const { return begin == end; }
  void add(std::uint32_t id) { places_[id].push_back(end++); }
  // The first that waits with this id; `end` if none does.
  std::size_t first(std::uint32_t id) {
    std::size_t& head = heads_[id];
    while (head < places_[id].size() && places_[id][head] < begin) ++head;
    return head == places_[id].size() ? end : places_[id][head];
  }

 private:
  std::vector<std::vector<std::size_t>> places_;  // by id
  std::vector<std::size_t> heads_;                // of the first that still waits
};

// "Functional.conv2d.forward.input.0" of "Functional.conv2d.0.forward.input.0". As msprobe cuts it, a module loses its
// class: "Module.fc.forward.0.input.0" of "Module.fc.Linear.forward.0.input.0".
std::string without_count(const std::string& name) {
  const std::string_view direction = name.find("forward") != name.npos    ? "forward"
                                     : name.find("backward") != name.npos ? "backward"
                                                                          : "";
  if (direction.empty()) return name;
  const std::size_t offset = name.find(direction), after = offset + direction.size();
  std::string_view stem = std::string_view(name).substr(0, offset);
  for (int dots = 0; dots < 2; ++dots) stem = stem.substr(0, std::min(stem.rfind('.'), stem.size()));
  const std::string_view rest = std::string_view(name).substr(after);
  return std::string(stem) + "." + std::string(direction) + std::string(rest.substr(0, rest.find(direction)));
}

struct CellTypes {
  bool are_numbers = true, has_float = false;
};

// If the cells of a column, in the rows that `counts` picks, are all numbers and one is a float, all become floats.
template <typename Counts>
CellTypes settle_column(std::vector<ComparedRow>& rows, Statistics ComparedRow::*side, std::size_t column,
                        const Counts& counts) {
  CellTypes values;
  for (const ComparedRow& row : rows) {
    if (!counts(row)) continue;
    const PythonValue& value = (row.*side)[column];
    values.are_numbers &= is_int(value) || is_float(value);
    values.has_float |= is_float(value);
  }
  if (!values.are_numbers || !values.has_float) return values;
  for (ComparedRow& row : rows) {
    if (counts(row)) (row.*side)[column] = as_double((row.*side)[column]);
  }
  return values;
}

void settle_side(std::vector<ComparedRow>& rows, Statistics ComparedRow::*side) {
  CellTypes all;
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    const CellTypes values = settle_column(rows, side, i, [](const ComparedRow&) { return true; });
    all.are_numbers &= values.are_numbers;
    all.has_float |= values.has_float;
  }
  if (!all.are_numbers || !all.has_float) return;
  for (ComparedRow& row : rows) {
    for (PythonValue& value : row.*side) value = as_double(value);
  }
}

}  // namespace

void pair_items(Comparison& comparison, bool any_dtype) {
  const std::vector<Item>& bench = comparison.bench.items;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_key;
  for (std::uint32_t i = 0; i < bench.size(); ++i) by_key[bench[i].key].push_back(i);
  PairedRows rows(comparison, any_dtype);
  for (const Item& npu : comparison.npu.items) {
    const auto partners = by_key.find(npu.key);
    if (partners == by_key.end()) {
      rows.add(npu, nullptr);
      continue;
    }
    for (const std::uint32_t partner : partners->second) rows.add(npu, &bench[partner]);
  }
}

void pair_items_in_order(Comparison& comparison) {
  const std::vector<Item>&npu = comparison.npu.items, &bench = comparison.bench.items;
  // Keys without numbers of calls, as numbers.
  std::unordered_map<std::string, std::uint32_t> ids;
  const auto ids_of = [&](const std::vector<Item>& items) {
    std::vector<std::uint32_t> numbers;
    for (const Item& item : items) {
      numbers.push_back(ids.try_emplace(without_count(item.key), static_cast<std::uint32_t>(ids.size())).first->second);
    }
    return numbers;
  };
  const std::vector<std::uint32_t> of_npu = ids_of(npu), of_bench = ids_of(bench);
  Waiting npus(ids.size()), benches(ids.size());
  PairedRows rows(comparison, false);
  const std::size_t most = std::max(npu.size(), bench.size());
  for (std::size_t i = 0; i < most; ++i) {
    if (i < npu.size()) npus.add(of_npu[i]);
    if (i < bench.size()) benches.add(of_bench[i]);
    if (npus.is_empty() != benches.is_empty()) break;
    // The last of one side with the first that fits of the other.
    std::size_t in_npu = npus.end - 1, in_bench = benches.first(of_npu[in_npu]);
    if (in_bench == benches.end) {
      in_bench = benches.end - 1;
      in_npu = npus.first(of_bench[in_bench]);
      if (in_npu == npus.end) continue;
    }
    while (npus.begin != in_npu) rows.add(npu[npus.begin++], nullptr);
    rows.add(npu[in_npu], &bench[in_bench]);
    npus.begin = in_npu + 1;
    benches.begin = in_bench + 1;
  }
  while (!npus.is_empty()) rows.add(npu[npus.begin++], nullptr);
  comparison.unmatched_count += npu.size() - npus.end;
}

void settle_types(std::vector<ComparedRow>& rows) {
  settle_side(rows, &ComparedRow::npu_statistics);
  settle_side(rows, &ComparedRow::bench_statistics);
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    settle_column(rows, &ComparedRow::npu_statistics, i, [](const ComparedRow& row) { return row.bench == nullptr; });
  }
}

}  // namespace tensorstat::msprobe
