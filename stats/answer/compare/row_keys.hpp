// By what two records' rows are paired.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "stats/answer/compare/interned_texts.hpp"
#include "stats/answer/compare/record.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {

class Renames;

struct Key {
  std::uint32_t name;  // of texts that both records share
  std::uint32_t rank;
  std::uint64_t iteration;
  bool is_output;
  RowKind kind;         // kOfCall where types do not tell tensors apart
  std::uint32_t slot;   // or the name of the argument
  Execution execution;  // kUnknown where rows of both may be one tensor
  std::uint32_t row;
  // The name before it was escaped: of rows that are one by `name`, those with one spelling pair first. kNone where the
  // row's dialect may have escaped it.
  std::uint32_t spelling;

  auto what() const { return std::tie(name, rank, iteration, is_output, kind, slot, execution); }
};

// What makes two rows one tensor, beside rank, iteration and io.
struct Pairing {
  bool by_tensor, by_execution, by_argument, by_kind;
};

// The keys of a record's rows, sorted. Of a call in both folders, the row of pynative/ comes first: a job without jit
// executes all its calls so. With `by_kind`, the calls of a model that trains in eval mode have the names of a forward.
// `renames` may be null. `shared` holds the texts of both records.
std::vector<Key> keys_of(const Record& record, const Renames* renames, const Pairing& pairing, InternedTexts& shared);

}  // namespace tensorstat
