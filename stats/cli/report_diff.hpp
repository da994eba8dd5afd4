// What `tensorstat diff` and `tensorstat origin` found, as text or JSON.
#pragma once

#include <string>

#include "stats/cli/element_pass.hpp"
#include "stats/compare/differences.hpp"
#include "stats/compare/origin.hpp"

namespace tensorstat::cli {

struct Diff {
  const Record &a, &b;
  const Differences& differences;
  const ElementFindings& elements;
  const std::vector<Beginning>* first = nullptr;  // none: not asked
};

// {schema_version, compared, different, unmatched_a: [...], unmatched_b: [...], pairs: [{a, b, verdict, why, op_type,
// op_name, rank, iteration, io, slot, stats: {name: {a, b}}, elements: {unequal, outside, first unequal index, max abs
// diff, max abs diff index, max rel diff}}]}, elements where they were compared, and with Diff::first
// first: [{op_type, op_name, rank, iteration, io, slot, added, enters}].
std::string json_of(const Diff& diff);
// What differs, a line each, or all; then what has no partner; then the line that answers.
std::string text_of(const Diff& diff, bool with_all);

// {schema_version, producers: [{op_type, op_name, rank, iteration, io, slot, nan, inf, before: [...], inputs: [...]}],
// entered: [...], propagators: [...]}. nan and inf are counts; null where NaN or Inf is there and was not counted.
std::string json_of(const Record& record, const Origin& origin);
std::string text_of(const Record& record, const Origin& origin);

}  // namespace tensorstat::cli
