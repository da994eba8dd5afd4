#include "stats/data/rules/facts.hpp"

#include <algorithm>
#include <array>
#include <tensorstat/pair.hpp>
#include <vector>

#include "stats/core/base/typed_name.hpp"
#include "stats/data/rows/coordinates.hpp"
#include "stats/data/rules/specials.hpp"

namespace tensorstat {
namespace {

FactValue further(const TensorRow& row, std::string_view name) {
  const Cell* const cell = row.row.identity.find(name);
  if (cell == nullptr) return Value();
  if (const auto* text = std::get_if<std::string>(cell)) return *text;
  return Value(std::get<std::uint64_t>(*cell));
}

FactValue number(std::uint64_t number) { return Value(number); }

// Facts both of a tensor's row and of a pair.
constexpr Fact kOfBoth[] = {
    {"path", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.path; }},
    {"tensor", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.tensor.value_or(""); }},
    {"dtype", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.row.data_type; }},
    {"shape", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return to_string(e.row.shape); }},
    {"op_type", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.row.identity.op_type; }},
    {"op_name", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.row.identity.op_name; }},
    {"io", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.row.identity.io; }},
    {"slot", Fact::Kind::kNumber, [](const TensorRow& e) { return number(e.row.identity.slot); }},
    {"rank", Fact::Kind::kNumber, [](const TensorRow& e) { return further(e, "rank"); }},
    {"step", Fact::Kind::kNumber, [](const TensorRow& e) { return further(e, "iteration"); }},
    {"iteration", Fact::Kind::kNumber, [](const TensorRow& e) { return further(e, "iteration"); }},
    {"graph", Fact::Kind::kNumber, [](const TensorRow& e) { return further(e, "graph"); }},
};

constexpr Fact kOfTensors[] = {
    {"name", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.label(); }},
    {"bytes", Fact::Kind::kNumber, [](const TensorRow& e) { return number(e.row.data_size_bytes); }},
    {"time", Fact::Kind::kNumber, [](const TensorRow& e) { return number(e.row.identity.timestamp_us); }},
    {"nan", Fact::Kind::kCount, [](const TensorRow& e) { return nan_of(e.row.statistics); }},
    {"inf", Fact::Kind::kCount, [](const TensorRow& e) { return inf_of(e.row.statistics); }},
};

template <PairStatistic S>
FactValue statistic_of_pair(const TensorRow& row) {
  if (row.paired == nullptr || row.paired->elements.empty()) return Value();
  return row.paired->elements[static_cast<std::size_t>(S)];
}

template <FactValue (*fact)(const StatisticsView&)>
FactValue of_b(const TensorRow& row) {
  return row.paired ? fact(row.paired->statistics) : FactValue();
}

// The sum of both sides.
template <FactValue (*fact)(const StatisticsView&)>
FactValue of_sides(const TensorRow& row) {
  const FactValue sides[] = {fact(row.row.statistics), of_b<fact>(row)};
  std::uint64_t sum = 0;
  bool is_known = false;
  for (const FactValue& side : sides) {
    if (std::holds_alternative<std::string>(side)) return side;
    const auto* count = std::get_if<std::uint64_t>(&std::get<Value>(side));
    is_known = is_known || count != nullptr;
    sum += count ? *count : 0;
  }
  return is_known ? number(sum) : Value();
}

FactValue place_of_greatest(const TensorRow& row) {
  if (row.paired == nullptr || row.paired->elements.empty()) return std::string();
  const Value& index = row.paired->elements[static_cast<std::size_t>(PairStatistic::kMaxAbsDiffIndex)];
  const auto element = row.paired->by_parts ? std::nullopt : coordinates(index, row.row.shape);
  return element ? to_string(*element) : to_string(index);
}

// The value of one side where elements differ most, or else of the statistic that decided.
FactValue deciding_value(const TensorRow& row, bool is_b) {
  if (row.paired == nullptr) return Value();
  if (!row.paired->elements.empty()) return is_b ? row.paired->greatest_b : row.paired->greatest_a;
  const auto category = category_from(row.paired->why);
  if (!category) return Value();
  const StatisticsView statistics = is_b ? row.paired->statistics : StatisticsView(row.row.statistics);
  const Value* const value = statistics.find(*category);
  return value ? *value : Value();
}

constexpr Fact kOfPairs[] = {
    {"a", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.label(); }},
    {"b", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.paired ? e.paired->label : ""; }},
    {"verdict", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.paired ? e.paired->verdict : ""; }},
    {"why", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.paired ? e.paired->why : ""; }},
    {"in a", Fact::Kind::kNumber, [](const TensorRow& e) { return deciding_value(e, false); }},
    {"in b", Fact::Kind::kNumber, [](const TensorRow& e) { return deciding_value(e, true); }},
    {"apart", Fact::Kind::kNumber,
     [](const TensorRow& e) -> FactValue {
       if (e.paired == nullptr) return Value();  // two returns: as one expression GCC 12 warns falsely
       return Value(e.paired->apart);
     }},
    {"at", Fact::Kind::kText, place_of_greatest},
    {"dtype b", Fact::Kind::kText, [](const TensorRow& e) -> FactValue { return e.paired ? e.paired->data_type : ""; }},
    {"nan", Fact::Kind::kCount, of_sides<nan_of>},
    {"inf", Fact::Kind::kCount, of_sides<inf_of>},
    {"nan a", Fact::Kind::kCount, [](const TensorRow& e) { return nan_of(e.row.statistics); }},
    {"nan b", Fact::Kind::kCount, of_b<nan_of>},
    {"inf a", Fact::Kind::kCount, [](const TensorRow& e) { return inf_of(e.row.statistics); }},
    {"inf b", Fact::Kind::kCount, of_b<inf_of>},
#define TENSORSTAT_ROW(id, name, kind, ...)                                                       \
  {name, PairValueKind::kind == PairValueKind::kCount ? Fact::Kind::kCount : Fact::Kind::kNumber, \
   statistic_of_pair<PairStatistic::id>},
    TENSORSTAT_PAIR_STATISTICS(TENSORSTAT_ROW)
#undef TENSORSTAT_ROW
};

template <std::size_t N, std::size_t M>
constexpr std::array<Fact, N + M> joined(const Fact (&first)[N], const Fact (&second)[M]) {
  std::array<Fact, N + M> all{};
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}
constexpr auto kTensorFacts = joined(kOfTensors, kOfBoth);
constexpr auto kPairFacts = joined(kOfPairs, kOfBoth);

FactValue counted(std::optional<std::uint64_t> count, bool is_known) {
  if (!is_known) return Value();
  return count ? number(*count) : FactValue("some");
}

}  // namespace

FactValue nan_of(const StatisticsView& statistics) {
  const Specials specials = specials_of(statistics);
  return counted(specials.nan, specials.is_nan_known);
}

FactValue inf_of(const StatisticsView& statistics) {
  const Specials specials = specials_of(statistics);
  return counted(specials.inf, specials.is_inf_known);
}

std::span<const Fact> facts_of(About about) {
  return about == About::kPairs ? std::span<const Fact>(kPairFacts) : std::span<const Fact>(kTensorFacts);
}

const Fact* fact_named(std::string_view name, About about) {
  for (const Fact& fact : facts_of(about)) {
    if (is_typed_name(name, fact.name)) return &fact;
  }
  return nullptr;
}

}  // namespace tensorstat
