#include "stats/answer/compare/row_prints.hpp"

#include <functional>
#include <string_view>
#include <variant>

#include "stats/answer/compare/fault_roles.hpp"

namespace tensorstat {
namespace {

// Whether content_of() covers all values, and one of them is enough for a judgement.
bool are_proof(const Statistics& statistics) {
  bool is_judged = false;
  for (std::size_t i = 0; i < statistics.values.size(); ++i) {
    const Value& value = statistics.values[i];
    if (std::holds_alternative<std::monostate>(value)) continue;
    const ValueKind kind = tensorstat::kind(statistics.categories[i]);
    if (kind == ValueKind::kList) return false;
    is_judged |= kind != ValueKind::kIndex;
  }
  return is_judged;
}

}  // namespace

void RowPrints::add(const Row& row, const Record::Place& place) {
  ++row_count_;
  Print& print = prints_[{place.iteration, place.rank}];
  std::uint64_t hash = content_of(row.statistics, print.hash + 1);
  const auto mix = [&](std::uint64_t word) { hash = mixed(hash, word); };
  for (const std::string_view text : {std::string_view(row.identity.op_type), place.name, place.argument,
                                      std::string_view(row.identity.io), std::string_view(row.data_type)})
    mix(std::hash<std::string_view>{}(text));
  for (const std::uint64_t number : {row.identity.slot, std::uint64_t{place.graph}, std::uint64_t{place.is_parameter},
                                     static_cast<std::uint64_t>(place.execution), std::uint64_t{row.shape.size()}})
    mix(number);
  for (const std::uint64_t size : row.shape) mix(size);
  for (const Category category : row.statistics.categories) mix(static_cast<std::uint64_t>(category));
  print.hash = hash;
  // A record has its rows in the order of time.
  if (!are_proof(row.statistics) || row.identity.timestamp_us < print.last_time) print.is_proof = false;
  print.last_time = row.identity.timestamp_us;
}

std::set<std::uint64_t> RowPrints::unequal(const RowPrints& a, const RowPrints& b) {
  std::set<std::uint64_t> iterations;
  for (const auto* sides : {&a, &b}) {
    const RowPrints& other = sides == &a ? b : a;
    for (const auto& [place, print] : sides->prints_) {
      const auto its = other.prints_.find(place);
      if (its == other.prints_.end() || !its->second.agrees_with(print)) iterations.insert(place.first);
    }
  }
  return iterations;
}

}  // namespace tensorstat
