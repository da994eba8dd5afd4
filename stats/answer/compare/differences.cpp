#include "stats/answer/compare/differences.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "stats/answer/compare/fault_roles.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/rows/names/msprobe_file_name.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

// What a watch says of one name in several rows: a parameter's value, its gradient and the optimizer's state of it.
enum class OfParameter : std::uint8_t { kOther, kGradient, kOptimizerState };

struct Key {
  std::uint32_t name;  // of texts that both records share
  std::uint32_t rank;
  std::uint64_t iteration;
  bool is_output;
  OfParameter kind;     // kOther where types do not tell tensors apart
  std::uint32_t slot;   // or the name of the argument
  Execution execution;  // kUnknown where rows of both may be one tensor
  std::uint32_t row;

  auto what() const { return std::tie(name, rank, iteration, is_output, kind, slot, execution); }
};

// Whether a record holds rows from graph/ and from pynative/, or from one of them.
struct Executions {
  bool graph = false, pynative = false;

  explicit Executions(const Record& record) {
    for (const Seen& row : record.rows()) {
      graph = graph || row.execution == Execution::kGraph;
      pynative = pynative || row.execution == Execution::kPynative;
    }
  }
  bool both() const { return graph && pynative; }
  bool any() const { return graph || pynative; }
};

// What makes two rows one tensor, beside rank, iteration and io.
struct Pairing {
  bool by_tensor, by_execution, by_argument, by_kind;
};

// Whether the rows are those of a watch, whose types say what a tensor is. Elsewhere a type is the word of a framework.
bool is_of_watch(const Record& record) {
  std::vector<bool> is_known(record.texts().size());
  return std::ranges::any_of(record.rows(), [&](const Seen& row) {
    if (is_known[row.name] || !record.texts()[row.file].empty()) return false;
    is_known[row.name] = true;
    return form_shown_by(record.texts()[row.op_type], record.texts()[row.name], true) == Form::kWatch;
  });
}

OfParameter kind_of(std::string_view op_type) {
  if (op_type == "Gradient") return OfParameter::kGradient;
  return op_type == "OptimizerState" ? OfParameter::kOptimizerState : OfParameter::kOther;
}

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
    return std::ranges::all_of(record.rows(), [&](const Seen& row) { return !record.texts()[row.argument].empty(); });
  };
  const auto has_files = [](const Record& record) {
    return std::ranges::any_of(record.rows(), [&](const Seen& row) { return !record.texts()[row.file].empty(); });
  };
  return has(a) && has(b) && (has_files(a) || has_files(b));
}

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
    const OfParameter kind = pairing.by_kind ? kind_of(record.texts()[row.op_type]) : OfParameter::kOther;
    keys.push_back({name, row.rank, row.iteration, !row.is_input, kind, slot,
                    pairing.by_execution ? row.execution : Execution::kUnknown, i});
  }
  // Of a call in both, the row of pynative/ comes first: a job without jit executes all its calls so.
  const auto is_before = [&](const Key& a, const Key& b) {
    const auto order = [&](const Key& key) {
      return std::tuple_cat(key.what(), std::tie(record.rows()[key.row].execution));
    };
    return order(a) < order(b);
  };
  if (!std::ranges::is_sorted(keys, is_before)) std::ranges::stable_sort(keys, is_before);
  return keys;
}

// A watch writes a parameter where it may have changed, and a gradient once if nothing changes it. Where one of two
// runs begins anew, or looks at replicas, it writes more. A row that the other run lacks is no difference if it repeats
// what the other run wrote of this tensor before.
class Repeats {
 public:
  Repeats(const Record& own, std::span<const Key> own_keys, const Record& other, std::span<const Key> other_keys,
          const Tolerances& tolerances)
      : own_(own), other_(other), tolerances_(tolerances) {
    for (const Key& key : own_keys) own_key_.emplace(key.row, &key);
    for (const Key& key : other_keys) {
      if (is_of_parameter(other, key)) earlier_[who(key)].emplace(when(key), key.row);
    }
  }

  void leave_out(std::vector<std::uint32_t>& only) const {
    std::erase_if(only, [&](std::uint32_t row) { return is_repeated(*own_key_.at(row)); });
  }

 private:
  using Who = std::tuple<std::uint32_t, std::uint32_t, OfParameter, std::uint32_t>;
  using When = std::pair<std::uint64_t, bool>;

  static Who who(const Key& key) { return {key.name, key.rank, key.kind, key.slot}; }
  static When when(const Key& key) { return {key.iteration, key.is_output}; }
  static bool is_of_parameter(const Record& record, const Key& key) {
    const std::string_view type = record.texts()[record.rows()[key.row].op_type];
    return type == "Parameter" || type == "Gradient";
  }

  bool is_repeated(const Key& key) const {
    const auto rows = is_of_parameter(own_, key) ? earlier_.find(who(key)) : earlier_.end();
    if (rows == earlier_.end()) return false;
    const auto next = rows->second.lower_bound(when(key));
    if (next == rows->second.begin()) return false;
    const auto& [then, row] = *std::prev(next);
    if (key.kind == OfParameter::kGradient && then.first != key.iteration) return false;
    const Seen &mine = own_.rows()[key.row], &its = other_.rows()[row];
    const Tolerance tolerance = tolerances_.of(own_.texts()[mine.name], own_.texts()[mine.dtype]);
    return judge(own_, mine, other_, its, tolerance).verdict != Verdict::kDifferent;
  }

  const Record &own_, &other_;
  const Tolerances& tolerances_;
  std::unordered_map<std::uint32_t, const Key*> own_key_;
  std::map<Who, std::map<When, std::uint32_t>> earlier_;
};

constexpr std::uint32_t kNoPair = UINT32_MAX;

// Says of each beginning its phase, what contains it and its line, and leaves out what contains another.
void place_in_model(const Record& a, Hints& hints, std::vector<Beginning>& found) {
  const Form form = form_of(a, hints);
  const auto run_of = [&](const Beginning& of) { return a.rows()[of.in_a].run; };
  const auto place_of = [&](const Beginning& of) {
    return std::pair(a.rows()[of.in_a].iteration, a.rows()[of.in_a].rank);
  };
  const auto iteration_of = [&](std::uint32_t run) { return a.run(run).front().iteration; };
  std::vector<bool> contains_another(found.size());
  std::vector<bool> is_done(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (is_done[i]) continue;
    const auto [iteration, rank] = place_of(found[i]);
    std::uint32_t first = run_of(found[i]), last = first + 1;
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
    for (std::size_t j = i; j < found.size(); ++j) {
      if (place_of(found[j]) != std::pair(iteration, rank)) continue;
      is_done[j] = true;
      const std::uint32_t at = call_of.at(found[j].in_a);
      const Call& call = model.calls[at];
      found[j].phase = call.phase;
      if (call.phase == Phase::kForward && call.inputs.empty()) {
        const std::uint32_t run = run_of(found[j]);
        found[j].since = run == first ? "" : a.texts()[a.run(run - 1).front().name];
      }
      std::uint32_t above = call.parent;
      for (int steps = 0; above != kNoCall && steps < 64; above = model.calls[above].parent, ++steps) {
        found[j].inside.emplace_back(a.texts()[model.calls[above].name]);
      }
      found[j].code = hints.line_of(rank, iteration, a.texts()[call.name], call.nth);
      here.emplace_back(j, at);
    }
    std::set<std::uint32_t> outer;
    for (const auto& [j, at] : here) {
      std::uint32_t above = model.calls[at].parent;
      for (int steps = 0; above != kNoCall && steps < 64; above = model.calls[above].parent, ++steps)
        outer.insert(above);
    }
    for (const auto& [j, at] : here) contains_another[j] = !found[j].enters && outer.contains(at);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (contains_another[i]) continue;
    if (kept != i) found[kept] = std::move(found[i]);
    ++kept;
  }
  found.resize(kept);
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

Differences compare(const Record& a, const Record& b, const Renames& renames, const Tolerances& tolerances,
                    bool by_tensor) {
  InternedTexts shared;
  const bool are_of_watches = is_of_watch(a) && is_of_watch(b);
  const Pairing pairing{.by_tensor = by_tensor,
                        .by_execution = are_apart(a, b),
                        .by_argument = have_arguments(a, b),
                        .by_kind = are_of_watches};
  const auto keys_a = keys_of(a, &renames, pairing, shared), keys_b = keys_of(b, nullptr, pairing, shared);
  Differences found;
  auto in_a = keys_a.begin();
  auto in_b = keys_b.begin();
  while (in_a != keys_a.end() || in_b != keys_b.end()) {
    if (in_b == keys_b.end() || (in_a != keys_a.end() && in_a->what() < in_b->what())) {
      found.only_a.push_back((in_a++)->row);
    } else if (in_a == keys_a.end() || in_b->what() < in_a->what()) {
      found.only_b.push_back((in_b++)->row);
    } else {
      found.pairs.push_back({(in_a++)->row, (in_b++)->row, {}});
    }
  }
  if (are_of_watches && !found.only_a.empty()) Repeats(a, keys_a, b, keys_b, tolerances).leave_out(found.only_a);
  if (are_of_watches && !found.only_b.empty()) Repeats(b, keys_b, a, keys_a, tolerances).leave_out(found.only_b);
  if (!std::ranges::is_sorted(found.pairs, {}, &Pair::in_a)) std::ranges::sort(found.pairs, {}, &Pair::in_a);
  std::ranges::sort(found.only_a);
  std::ranges::sort(found.only_b);
  for (Pair& pair : found.pairs) {
    const Seen &row_a = a.rows()[pair.in_a], &row_b = b.rows()[pair.in_b];
    pair.judgement = judge(a, row_a, b, row_b, tolerances.of(a.texts()[row_a.name], a.texts()[row_a.dtype]));
    found.different_count += pair.judgement.verdict == Verdict::kDifferent;
  }
  return found;
}

std::vector<Beginning> beginnings(const Record& a, const Record& b, const Differences& differences, Hints& hints) {
  std::vector<std::uint32_t> pair_of(a.rows().size(), kNoPair);
  std::vector<bool> is_known(a.run_count());  // to the other run
  for (std::uint32_t i = 0; i < differences.pairs.size(); ++i) {
    const std::uint32_t row = differences.pairs[i].in_a;
    pair_of[row] = i;
    is_known[a.rows()[row].run] = true;
  }
  const auto pair = [&](const Seen& row) -> const Pair* {
    const std::uint32_t at = pair_of[static_cast<std::size_t>(&row - a.rows().data())];
    return at == kNoPair ? nullptr : &differences.pairs[at];
  };
  const auto roles = roles_of(a, [&](const Seen& row) -> Marked {
    const Pair* of_row = pair(row);
    const StatisticsView in_a = a.statistics(row);
    if (of_row == nullptr) return {is_known[row.run], content_of(in_a), proves_content(in_a)};
    const StatisticsView in_b = b.statistics(b.rows()[of_row->in_b]);
    return {of_row->judgement.verdict == Verdict::kDifferent, content_of(in_b, content_of(in_a, 1)),
            proves_content(in_a) || proves_content(in_b)};
  });

  std::vector<Beginning> found;
  for (std::uint32_t run = 0; run < a.run_count(); ++run) {
    if (roles[run] != Role::kBegins && roles[run] != Role::kEnters) continue;
    const bool enters = roles[run] == Role::kEnters;
    const Seen* first = nullptr;
    double of_inputs = 0, of_first = 0;
    for (const Seen& row : a.run(run)) {
      const Pair* of_row = pair(row);
      const bool differs = of_row == nullptr || of_row->judgement.verdict == Verdict::kDifferent;
      const double difference = of_row == nullptr ? HUGE_VAL : of_row->judgement.difference;
      if (row.is_input && !differs) of_inputs = std::max(of_inputs, difference);
      if (row.is_input != enters || !differs) continue;
      if (first == nullptr) first = &row;
      of_first = std::max(of_first, difference);
    }
    const auto at = static_cast<std::uint32_t>(first - a.rows().data());
    found.push_back({at, enters ? of_first : of_first - of_inputs, enters});
  }
  place_in_model(a, hints, found);
  return found;
}

}  // namespace tensorstat
