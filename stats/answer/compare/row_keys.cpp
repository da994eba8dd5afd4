#include "stats/answer/compare/row_keys.hpp"

#include <algorithm>
#include <string>

#include "stats/answer/compare/differences.hpp"
#include "stats/data/rows/names/msprobe_file_name.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

// A watch has several rows of a parameter's name. Other rows may have another type in the other run.
RowKind told_apart(RowKind kind) {
  return kind == RowKind::kGradient || kind == RowKind::kOptimizerState || kind == RowKind::kUpdate ? kind
                                                                                                    : RowKind::kOfCall;
}

}  // namespace

std::vector<Key> keys_of(const Record& record, const Renames* renames, const Pairing& pairing, InternedTexts& shared) {
  std::vector<std::uint32_t> known(record.texts().size(), InternedTexts::kNone);
  const std::uint32_t Seen::*const called = pairing.by_tensor ? &Seen::tensor : &Seen::name;
  std::vector<Key> keys;
  keys.reserve(record.rows().size());
  for (std::uint32_t i = 0; i < record.rows().size(); ++i) {
    const Seen& row = record.rows()[i];
    std::uint32_t& name = known[row.*called];
    if (name == InternedTexts::kNone) {
      const std::string_view own = record.texts()[row.*called];
      name = shared.id(escaped_op_name(without_gradient_count(renames ? renames->of(own) : std::string(own))));
    }
    const std::uint32_t slot = pairing.by_argument ? shared.id(record.texts()[row.argument]) : row.slot;
    const RowKind kind = pairing.by_kind ? told_apart(row_kind(record.texts()[row.op_type])) : RowKind::kOfCall;
    keys.push_back({name, row.rank, row.iteration, !row.is_input, kind, slot,
                    pairing.by_execution ? row.execution : Execution::kUnknown, i});
  }
  const auto is_before = [&](const Key& a, const Key& b) {
    const auto order = [&](const Key& key) {
      return std::tuple_cat(key.what(), std::tie(record.rows()[key.row].execution));
    };
    return order(a) < order(b);
  };
  if (!std::ranges::is_sorted(keys, is_before)) std::ranges::stable_sort(keys, is_before);
  return keys;
}

}  // namespace tensorstat
