#include "stats/answer/compare/differences.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "stats/answer/compare/fault_roles.hpp"
#include "stats/answer/origin/run_facts.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

// Whether a record holds rows from graph/ and from pynative/, or from one of them.
struct Executions {
  bool graph = false, pynative = false;

  explicit Executions(const Record& record) {
    for (const RecordRow& row : record.rows()) {
      graph = graph || row.execution == Execution::kGraph;
      pynative = pynative || row.execution == Execution::kPynative;
    }
  }
  bool both() const { return graph && pynative; }
  bool any() const { return graph || pynative; }
};

// Whether graph/ and pynative/ are kept apart. A job with jit may have the same call in both folders: these are two
// calls. A record with only one of the folders is one execution, so it may be compared with the other folder of another
// record. A job without jit has neither folder: its calls pair with the calls of either.
bool are_apart(const Record& a, const Record& b) {
  const Executions in_a(a), in_b(b);
  return (in_a.both() && in_b.any()) || (in_b.both() && in_a.any());
}

// Whether arguments are paired by the names that msprobe gives them. Names of files tell them, and may leave open which
// slot of its call it was.
bool have_arguments(const Record& a, const Record& b) {
  const auto has = [](const Record& record) {
    return std::ranges::all_of(record.rows(),
                               [&](const RecordRow& row) { return !record.texts()[row.argument].empty(); });
  };
  const auto has_files = [](const Record& record) {
    return std::ranges::any_of(record.rows(), [&](const RecordRow& row) { return !record.texts()[row.file].empty(); });
  };
  return has(a) && has(b) && (has_files(a) || has_files(b));
}

constexpr std::uint32_t kNoPair = UINT32_MAX;

// Says of each beginning its phase, what contains it and its line, and leaves out what contains another.
void place_in_model(const Record& a, Hints& hints, std::vector<Beginning>& starts) {
  const Form form = facts_of(a, hints).form;
  const auto run_of = [&](const Beginning& beginning) { return a.rows()[beginning.in_a].run; };
  const auto place_of = [&](const Beginning& beginning) {
    return std::pair(a.rows()[beginning.in_a].iteration, a.rows()[beginning.in_a].rank);
  };
  const auto iteration_of = [&](std::uint32_t run) { return a.run(run).front().iteration; };
  std::vector<bool> contains_another(starts.size());
  std::vector<bool> is_done(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (is_done[i]) continue;
    const auto [iteration, rank] = place_of(starts[i]);
    std::uint32_t first = run_of(starts[i]), last = first + 1;
    while (first > 0 && iteration_of(first - 1) == iteration) --first;
    while (last < a.run_count() && iteration_of(last) == iteration) ++last;
    const Model model = model_of(a, form, hints, rank, first, last);
    std::unordered_map<std::uint32_t, std::uint32_t> call_of;  // by row
    for (std::uint32_t call = 0; call < model.calls.size(); ++call) {
      for (const auto* rows : {&model.calls[call].inputs, &model.calls[call].outputs}) {
        for (const std::uint32_t row : *rows) call_of[row] = call;
      }
    }
    std::vector<std::pair<std::size_t, std::uint32_t>> here;  // beginnings, and their calls
    for (std::size_t j = i; j < starts.size(); ++j) {
      if (place_of(starts[j]) != std::pair(iteration, rank)) continue;
      is_done[j] = true;
      const std::uint32_t index = call_of.at(starts[j].in_a);
      const Call& call = model.calls[index];
      starts[j].phase = call.phase;
      if (call.phase == Phase::kForward && call.inputs.empty()) {
        const std::uint32_t run = run_of(starts[j]);
        starts[j].since = run == first ? "" : a.texts()[a.run(run - 1).front().name];
      }
      std::uint32_t above = call.parent;
      for (int steps = 0; above != kNoCall && steps < 64; above = model.calls[above].parent, ++steps) {
        starts[j].inside.emplace_back(a.texts()[model.calls[above].name]);
      }
      starts[j].code = hints.line_of(rank, iteration, a.texts()[call.name], call.nth);
      here.emplace_back(j, index);
    }
    std::set<std::uint32_t> outer;
    for (const auto& [j, index] : here) {
      std::uint32_t above = model.calls[index].parent;
      for (int steps = 0; above != kNoCall && steps < 64; above = model.calls[above].parent, ++steps)
        outer.insert(above);
    }
    for (const auto& [j, index] : here) contains_another[j] = !starts[j].enters && outer.contains(index);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (contains_another[i]) continue;
    if (kept != i) starts[kept] = std::move(starts[i]);
    ++kept;
  }
  starts.resize(kept);
}

bool is_gradient(const Record& record, const RecordRow& row) {
  return row_kind(record.texts()[row.op_type]) == RowKind::kGradient;
}

using Place = std::pair<std::uint32_t, std::uint64_t>;  // rank, iteration

// Where both records have rows.
std::set<Place> places_of_both(const Record& a, const Differences& differences) {
  std::set<Place> places;
  for (const Pair& pair : differences.pairs) {
    const RecordRow& row = a.rows()[pair.in_a];
    places.emplace(row.rank, row.iteration);
  }
  return places;
}

// A row that only B has: its value is another than A wrote last, or it is a gradient that A did not take.
struct OnlyInB {
  std::uint32_t in_b = 0, in_a = 0;
  std::uint64_t iteration = 0;
  Phase phase = Phase::kParameter;
  bool has_value_in_a = true;

  auto when() const { return std::tuple(iteration, phase, in_b); }
};

// The first of these, by rank.
std::map<std::uint32_t, OnlyInB> first_only_in_b(const Record& a, const Record& b, const Differences& differences) {
  std::map<std::uint32_t, OnlyInB> first;
  const auto add = [&](std::uint32_t in_b, std::uint32_t in_a, bool has_value_in_a) {
    const RecordRow& row = b.rows()[in_b];
    const Phase phase = is_gradient(b, row) ? Phase::kGradient : row.is_input ? Phase::kParameter : Phase::kOptimizer;
    const OnlyInB candidate{in_b, in_a, row.iteration, phase, has_value_in_a};
    const auto [known, is_new] = first.try_emplace(row.rank, candidate);
    if (!is_new && candidate.when() < known->second.when()) known->second = candidate;
  };
  for (const auto& [in_b, in_a] : differences.changed_b) add(in_b, in_a, true);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> partners;  // by rank and name in B: the last in A
  for (const Pair& pair : differences.pairs) {
    const RecordRow& row = b.rows()[pair.in_b];
    partners[{row.rank, row.name}] = pair.in_a;
  }
  const std::set<Place> places = places_of_both(a, differences);
  std::set<std::uint32_t> changed;
  for (const auto& [in_b, in_a] : differences.changed_b) changed.insert(in_b);
  for (const std::uint32_t in_b : differences.only_b) {
    const RecordRow& row = b.rows()[in_b];
    const auto partner = partners.find({row.rank, row.name});
    if (!is_gradient(b, row) || partner == partners.end() || changed.contains(in_b)) continue;
    if (places.contains({row.rank, row.iteration})) add(in_b, partner->second, false);
  }
  return first;
}

// A run may go on with other values: then B has a row that A lacks, and its value is another than A wrote last. This
// row comes first. Later calls without inputs that agree have the difference from it, and are left out.
void put_changed_first(const Record& a, const Record& b, const Differences& differences,
                       std::vector<Beginning>& starts) {
  for (const auto& [of_rank, of_b] : first_only_in_b(a, b, differences)) {
    const auto rank = of_rank;  // clang 15 captures no structured binding
    const OnlyInB& only = of_b;
    const auto is_before = [&](const Beginning& each) {
      const RecordRow& its = a.rows()[each.in_a];
      return its.rank == rank && std::pair(its.iteration, each.phase) < std::pair(only.iteration, only.phase);
    };
    if (std::ranges::any_of(starts, is_before)) continue;
    const auto has_no_inputs = [&](const Beginning& each) {
      const auto rows_of_run = a.run(a.rows()[each.in_a].run);
      return a.rows()[each.in_a].rank == rank && std::ranges::none_of(rows_of_run, &RecordRow::is_input);
    };
    std::erase_if(starts, has_no_inputs);
    starts.insert(starts.begin(), {.in_a = only.in_a,
                                   .added = HUGE_VAL,
                                   .enters = true,
                                   .phase = only.phase,
                                   .in_b = only.in_b,
                                   .is_in_b_alone = !only.has_value_in_a});
  }
}

// Pairs rows with one escaped name: the first with the first. If there are several spellings, such as "a.b" and "a_b",
// rows with the same spelling pair first.
void pair_same(std::span<const Key> a, std::span<const Key> b, Differences& differences) {
  const auto has_one_spelling = [](std::span<const Key> keys) {
    return std::ranges::all_of(keys, [&](const Key& key) { return key.spelling == keys.front().spelling; });
  };
  std::vector<Key> left_a, left_b;
  if (!has_one_spelling(a) || !has_one_spelling(b)) {
    std::map<std::uint32_t, std::deque<std::uint32_t>> spelled;  // rows of B
    for (const Key& key : b) {
      if (key.spelling != InternedTexts::kNone) spelled[key.spelling].push_back(key.row);
    }
    std::unordered_set<std::uint32_t> paired;
    for (const Key& key : a) {
      const auto same = spelled.find(key.spelling);
      if (same == spelled.end() || same->second.empty()) {
        left_a.push_back(key);
        continue;
      }
      differences.pairs.push_back({key.row, same->second.front(), {}});
      paired.insert(same->second.front());
      same->second.pop_front();
    }
    std::ranges::copy_if(b, std::back_inserter(left_b), [&](const Key& key) { return !paired.contains(key.row); });
    a = left_a;
    b = left_b;
  }
  const std::size_t count = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < count; ++i) differences.pairs.push_back({a[i].row, b[i].row, {}});
  for (const Key& key : a.subspan(count)) differences.only_a.push_back(key.row);
  for (const Key& key : b.subspan(count)) differences.only_b.push_back(key.row);
}

}  // namespace

Result<Renames> Renames::parse(std::string_view text) {
  Renames renames;
  Status read = for_each_line(text, [&](std::string_view line) -> Status {
    const std::size_t comma = line.find(',');
    const std::string_view from = line.substr(0, comma), to = comma == line.npos ? "" : line.substr(comma + 1);
    const auto wrong = [&](const char* what) { return Error{Code::kInvalid, "\"" + shown(line) + "\" " + what}; };
    if (from.empty() || to.empty() || to.find(',') != to.npos) return wrong("is not NAME_IN_A,NAME_IN_B");
    const bool is_beginning = from.ends_with('*');
    if (is_beginning != to.ends_with('*')) return wrong("has one name with * at its end and one without");
    const std::size_t cut = is_beginning ? 1 : 0;
    renames.lines_.push_back(
        {std::string(from.substr(0, from.size() - cut)), std::string(to.substr(0, to.size() - cut)), is_beginning});
    return {};
  });
  if (!read) return read.error();
  return renames;
}

std::string Renames::of(std::string_view name) const {
  for (const Line& line : lines_) {
    if (line.is_beginning ? name.starts_with(line.from) : name == line.from) {
      return line.to + std::string(name.substr(line.from.size()));
    }
  }
  return std::string(name);
}

bool is_of_watch(const Record& record, const Hints* hints) {
  static const Hints kNone;
  return facts_of(record, hints == nullptr ? kNone : *hints).form == Form::kWatch;
}

Differences compare(const Record& a, const Record& b, const Renames& renames, const Tolerances& tolerances,
                    bool by_tensor, const HintsOfBoth& hints) {
  InternedTexts shared;
  const bool are_of_watches = is_of_watch(a, hints.a) && is_of_watch(b, hints.b);
  const Pairing pairing{.by_tensor = by_tensor,
                        .by_execution = are_apart(a, b),
                        .by_argument = have_arguments(a, b),
                        .by_kind = are_of_watches};
  const auto keys_a = keys_of(a, &renames, pairing, shared), keys_b = keys_of(b, nullptr, pairing, shared);
  Differences differences;
  auto in_a = keys_a.begin();
  auto in_b = keys_b.begin();
  while (in_a != keys_a.end() || in_b != keys_b.end()) {
    if (in_b == keys_b.end() || (in_a != keys_a.end() && in_a->what() < in_b->what())) {
      differences.only_a.push_back((in_a++)->row);
    } else if (in_a == keys_a.end() || in_b->what() < in_a->what()) {
      differences.only_b.push_back((in_b++)->row);
    } else {
      const auto end_of = [](auto first, const auto& keys) {
        return std::find_if(first, keys.end(), [&](const Key& key) { return key.what() != first->what(); });
      };
      const auto end_a = end_of(in_a, keys_a), end_b = end_of(in_b, keys_b);
      pair_same({in_a, end_a}, {in_b, end_b}, differences);
      in_a = end_a;
      in_b = end_b;
    }
  }
  if (are_of_watches) {
    const Side side_a{a, keys_a, hints.a, hints.has_wrapper_a}, side_b{b, keys_b, hints.b, hints.has_wrapper_b};
    differences.changed_a = take_left_out(side_a, side_b, tolerances, differences.only_a, differences.left_out_a);
    differences.changed_b = take_left_out(side_b, side_a, tolerances, differences.only_b, differences.left_out_b);
  }
  if (!std::ranges::is_sorted(differences.pairs, {}, &Pair::in_a))
    std::ranges::sort(differences.pairs, {}, &Pair::in_a);
  std::ranges::sort(differences.only_a);
  std::ranges::sort(differences.only_b);
  for (Pair& pair : differences.pairs) {
    const RecordRow &row_a = a.rows()[pair.in_a], &row_b = b.rows()[pair.in_b];
    pair.judgement = judge(a, row_a, b, row_b, tolerances.of(a.texts()[row_a.name], a.texts()[row_a.dtype]));
    differences.different_count += pair.judgement.verdict == Verdict::kDifferent;
  }
  return differences;
}

std::vector<Beginning> beginnings(const Record& a, const Record& b, const Differences& differences, Hints& hints) {
  std::vector<std::uint32_t> pair_of(a.rows().size(), kNoPair);
  std::vector<bool> is_known(a.run_count());  // to the other run
  std::vector<bool> is_known_name(a.texts().size());
  for (std::uint32_t i = 0; i < differences.pairs.size(); ++i) {
    const std::uint32_t row = differences.pairs[i].in_a;
    pair_of[row] = i;
    is_known[a.rows()[row].run] = is_known_name[a.rows()[row].name] = true;
  }
  const auto pair = [&](const RecordRow& row) -> const Pair* {
    const std::uint32_t index = pair_of[static_cast<std::size_t>(&row - a.rows().data())];
    return index == kNoPair ? nullptr : &differences.pairs[index];
  };
  std::vector<bool> is_missing(a.rows().size());  // from the other run, and not left out
  const std::set<Place> places = places_of_both(a, differences);
  for (const std::uint32_t row : differences.only_a) {
    is_missing[row] = true;
    const RecordRow& seen = a.rows()[row];  // a gradient that B did not take, of a parameter that B has
    if (is_gradient(a, seen) && is_known_name[seen.name] && places.contains({seen.rank, seen.iteration}))
      is_known[seen.run] = true;
  }
  for (const auto& [in_a, in_b] : differences.changed_a) is_known[a.rows()[in_a].run] = true;
  const auto is_fault = [&](const RecordRow& row) {
    return is_missing[static_cast<std::size_t>(&row - a.rows().data())] && is_known[row.run];
  };
  const auto roles = roles_of(a, [&](const RecordRow& row) -> Marked {
    const Pair* of_row = pair(row);
    const StatisticsView in_a = a.statistics(row);
    if (of_row == nullptr) return {is_fault(row), content_of(in_a), proves_content(in_a)};
    const StatisticsView in_b = b.statistics(b.rows()[of_row->in_b]);
    return {of_row->judgement.verdict == Verdict::kDifferent, content_of(in_b, content_of(in_a, 1)),
            proves_content(in_a) || proves_content(in_b)};
  });

  std::vector<Beginning> starts;
  for (std::uint32_t run = 0; run < a.run_count(); ++run) {
    if (roles[run] != Role::kBegins && roles[run] != Role::kEnters) continue;
    const bool enters = roles[run] == Role::kEnters;
    const RecordRow* first = nullptr;
    double of_inputs = 0, of_first = 0;
    for (const RecordRow& row : a.run(run)) {
      const Pair* of_row = pair(row);
      const bool differs = of_row == nullptr ? is_fault(row) : of_row->judgement.verdict == Verdict::kDifferent;
      const double difference = of_row != nullptr ? of_row->judgement.difference : differs ? HUGE_VAL : 0;
      if (row.is_input && !differs) of_inputs = std::max(of_inputs, difference);
      if (row.is_input != enters || !differs) continue;
      if (first == nullptr) first = &row;
      of_first = std::max(of_first, difference);
    }
    const auto row = static_cast<std::uint32_t>(first - a.rows().data());
    starts.push_back({row, enters ? of_first : of_first - of_inputs, enters});
  }
  place_in_model(a, hints, starts);
  put_changed_first(a, b, differences, starts);
  return starts;
}

}  // namespace tensorstat
