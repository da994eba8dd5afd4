// The pairs of a comparison as rows that rules, tables and csv take.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stats/answer/compare/compared.hpp"
#include "stats/show/cli/options/arguments.hpp"
#include "stats/show/cli/report/report.hpp"

namespace tensorstat::cli {

// Which pairs are shown, and how.
struct PairChoice {
  std::optional<Rule> where = {};  // without it and without is_all: the pairs that differ
  std::optional<Sort> sort = {};   // without it: what differs most first; with is_all: the order of A
  std::optional<std::uint64_t> top = {};
  std::vector<Subject> columns = {};  // instead of the usual ones
  bool is_all = false;
};

struct PairRow {
  Pair pair;
  SurveyedTensor row;
  std::unique_ptr<PairedTensor> other;      // where row.paired points to
  std::unique_ptr<ElementValues> elements;  // where other->elements points to
  std::unique_ptr<Statistics> of_b = {};    // where other->statistics points to, if not to the record
};

// The chosen pairs in their order. `left`: how many more --top leaves out.
std::vector<PairRow> chosen_pairs(const Compared& compared, const PairChoice& choice, std::uint64_t& left);

// The statistics that the choice names and no pair has: a rule on them is never met.
std::vector<std::string> lacking_statistics(const Compared& compared, const PairChoice& choice);

// A table or Markdown. Columns without a value in any row are left out, unless they were asked for.
std::string table_of(const std::vector<PairRow>& rows, const PairChoice& choice, bool is_markdown, const Look& look);

// RFC 4180 with a heading: both names, the verdict and all columns of the table, with all digits.
std::string csv_of(const std::vector<PairRow>& rows, const PairChoice& choice);

}  // namespace tensorstat::cli
