// Two records, row beside row: what differs, and where it began.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>
#include <vector>

#include "stats/answer/compare/judge.hpp"
#include "stats/answer/compare/left_out_rows.hpp"
#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/model.hpp"

namespace tensorstat {

// How names of the one run become names of the other.
class Renames {
 public:
  // A line each: NAME_IN_A,NAME_IN_B. Where both end in *, what stands before it is replaced at the beginning of every
  // name. The first line that fits counts. A # at the beginning of a line, or after a blank, begins a comment.
  static Result<Renames> parse(std::string_view text);

  std::string of(std::string_view name_in_a) const;
  bool is_empty() const { return lines_.empty(); }

 private:
  struct Line {
    std::string from, to;
    bool is_beginning;
  };
  std::vector<Line> lines_;
};

struct Pair {
  std::uint32_t in_a = 0, in_b = 0;  // places among the rows
  Judgement judgement;
};

// The first tensor of a run of an operator where a difference begins.
struct Beginning {
  std::uint32_t in_a = 0;
  // Its greatest relative difference, minus the greatest one of the run's inputs.
  double added = 0;
  bool enters = false;  // with an input, and no operator before had a difference: see Role::kEnters
  Phase phase = Phase::kForward;
  std::vector<std::string> inside = {};  // names of the calls that contain it, the innermost first
  std::optional<CodeLine> code = {};
  // The name of the call before it, if the dump lacks the inputs of this forward call: the difference may also begin in
  // the code between the two. "": this is the first call.
  std::optional<std::string> since = {};
  // A row that only B has. It differs from what A wrote of this tensor last, in_a, as where B was resumed from other
  // values.
  std::optional<std::uint32_t> in_b = {};
  // A has no row of this tensor in the iteration: in_a is one of its parameter.
  bool is_in_b_alone = false;
};

struct Differences {
  std::vector<Pair> pairs;                    // in the order of A
  std::vector<std::uint32_t> only_a, only_b;  // without a partner
  std::uint64_t different_count = 0;
  // Rows that one watch wrote and a setting of the other left out. They do not count as differences.
  LeftOutCounts left_out_a = {}, left_out_b = {};
  // Rows of only_a and of only_b with another value than the other run wrote last, each with that run's row.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> changed_a, changed_b;

  bool has_unpaired() const {
    return !only_a.empty() || !only_b.empty() || left_out_a != LeftOutCounts{} || left_out_b != LeftOutCounts{};
  }
  bool is_clean() const { return different_count == 0 && only_a.empty() && only_b.empty(); }
};

// The hints of both runs, which must outlive the comparison. Null: a run without hints. has_wrapper_...: whether a
// wrapper around the model makes the outermost calls (Outermost).
struct HintsOfBoth {
  const Hints *a = nullptr, *b = nullptr;
  bool has_wrapper_a = false, has_wrapper_b = false;
};

// Whether a watch wrote the rows: its types give a tensor's role. In other dumps a type is a framework's operator.
bool is_of_watch(const Record& record, const Hints* hints);

// Pairs rows of the same name, rank, iteration, io and slot; of several, the first with the first. Between two watches
// a gradient, an optimizer's state and a parameter's value never pair. Rows that the other watch left out
// (left_out_rows.hpp) are counted apart and do not count as differences. If a record has rows of graph/ and of
// pynative/, a row pairs with a row of the same folder. If the other record has neither folder, a row of pynative/
// comes before a row of graph/. Names are compared as in file names, with _ for / \ . and space, because some dialects
// keep no others; of several that are one then, those that are spelled alike pair first.
// `by_tensor`: a tensor of a container is named by its name there, without the file's.
Differences compare(const Record& a, const Record& b, const Renames& renames, const Tolerances& tolerances,
                    bool by_tensor = false, const HintsOfBoth& hints = {});

// The operators with inputs that agree and outputs that differ, in the order of execution of A. A must be sorted. All
// other operators that differ got the difference from these, or contain one of them. An operator that the other run
// does not have is not judged. `hints` belong to A.
std::vector<Beginning> beginnings(const Record& a, const Record& b, const Differences& differences, Hints& hints);

}  // namespace tensorstat
