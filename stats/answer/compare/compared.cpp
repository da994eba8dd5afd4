#include "stats/answer/compare/compared.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <mutex>
#include <new>
#include <set>
#include <system_error>
#include <tensorstat/pair.hpp>
#include <unordered_set>

#include "stats/answer/compare/comparison_json.hpp"
#include "stats/answer/compare/name_prefixes.hpp"
#include "stats/answer/compare/row_prints.hpp"
#include "stats/answer/origin/run_search.hpp"
#include "stats/core/base/fault_list.hpp"
#include "stats/core/base/float_environment.hpp"

namespace tensorstat {
namespace {

// Keeps the faults that a listener hears, from several threads.
class Faults {
 public:
  ReadListener listener() {
    return {[this](std::string_view words) {
              const std::lock_guard lock(mutex_);
              faults_.add(std::string(words));
            },
            [](std::size_t, std::size_t, std::uint64_t) {}};
  }
  std::vector<std::string> taken() && { return std::move(faults_).taken(); }

 private:
  FaultList faults_;
  std::mutex mutex_;
};

// Whether all rows are tensors of containers, and no two of them have one name there.
bool have_names_of_their_own(const Record& record) {
  std::unordered_set<std::uint32_t> known;
  return std::ranges::all_of(record.rows(), [&](const RecordRow& row) {
    return !record.texts()[row.tensor].empty() && known.insert(row.tensor).second;
  });
}

// Whether all rows are tensors of files without the names of a dump.
bool are_plain_tensors(const Record& record) {
  return std::ranges::all_of(record.rows(), [&](const RecordRow& row) {
    return !record.texts()[row.file].empty() && record.texts()[row.op_type] == "Tensor";
  });
}

// The line of names by which these rows pair, by tensor or by whole names.
std::string line_between(const Record& a, const std::vector<std::uint32_t>& rows_a, const Record& b,
                         const std::vector<std::uint32_t>& rows_b, bool by_tensor) {
  if (!are_plain_tensors(a) || !are_plain_tensors(b)) return "";
  const auto names_of = [&](const Record& record, const std::vector<std::uint32_t>& rows) {
    std::vector<std::string_view> names;
    for (const std::uint32_t index : rows) {
      const RecordRow& row = record.rows()[index];
      names.push_back(record.texts()[by_tensor ? row.tensor : row.name]);
    }
    return names;
  };
  return prefix_line(names_of(a, rows_a), names_of(b, rows_b));
}

// Pairs rows by name. If no name is in both runs, by the names of tensors without the names of files. If none of these
// is in both, by the same names without a prefix. If the model of one watch alone is wrapped, by names without the
// wrapper's.
void pair_up(Compared& compared, const Renames& renames, const Tolerances& tolerances) {
  const Record &a = compared.a.record, &b = compared.b.record;
  const Outermost outermost_a = outermost_of(a), outermost_b = outermost_of(b);
  const HintsOfBoth hints{&compared.a.hints, &compared.b.hints, outermost_a.is_wrapper(), outermost_b.is_wrapper()};
  Differences& differences = compared.differences;
  if (const std::string lines = wrapper_lines(outermost_a, outermost_b); renames.is_empty() && !lines.empty()) {
    const auto without_wrapper = Renames::parse(lines);
    if (without_wrapper) {
      compared.paired_by = lines.substr(lines.rfind('\n') + 1);
      compared.is_wrapped = true;
      differences = compare(a, b, *without_wrapper, tolerances, false, hints);
      return;
    }
  }
  differences = compare(a, b, renames, tolerances, false, hints);
  bool by_tensor = false;
  if (differences.pairs.empty() && have_names_of_their_own(a) && have_names_of_their_own(b)) {
    by_tensor = true;
    differences = compare(a, b, renames, tolerances, by_tensor, hints);
  }
  if (!renames.is_empty() || differences.only_a.empty() || differences.only_b.empty()) return;
  const std::string line = line_between(a, differences.only_a, b, differences.only_b, by_tensor);
  const auto prefix = Renames::parse(line);
  if (line.empty() || !prefix) return;
  if (!differences.pairs.empty()) {
    compared.would_pair = line;
    return;
  }
  compared.paired_by = line;
  differences = compare(a, b, *prefix, tolerances, by_tensor, hints);
}

// Reads one of the two runs. All of its rows stay in memory if all pairs are wanted, or if it is short.
class SideReader {
 public:
  SideReader(const std::string& path, const DiffOptions& options, const ReadListener& listener, const Reading& how,
             PairsWanted wanted, Recorded& to)
      : path_(path),
        rows_(path, options.meter, listener, how),
        // With renames, equal rows are not those that pair.
        may_leave_out_(wanted == PairsWanted::kUnequal && options.names.empty()),
        to_(to) {}

  Status read() {
    const Status gone = rows_.each([&](const Row& row, const Record::Place& place) {
      // A call in graph/ may pair with one in pynative/. To read tensors again is to measure them again.
      if (place.execution != Execution::kUnknown || rows_.are_measured()) may_leave_out_ = false;
      if (may_leave_out_) prints_.add(row, place);
      add_while_short(to_.record, has_all_, !may_leave_out_, row, place);
    });
    if (!gone) return gone;
    if (has_all_ && to_.record.rows().empty()) return nothing_to_read(path_);
    to_.hints = std::move(rows_.hints());
    to_.is_whole = rows_.is_whole();
    to_.record.sort();
    return {};
  }

  // Puts the rows of these iterations into the record; all without `only`.
  Status read_again(const std::set<std::uint64_t>* only) { return tensorstat::read_again(to_.record, rows_, only); }

  bool has_all() const { return has_all_; }
  bool may_leave_out() const { return may_leave_out_; }
  const RowPrints& prints() const { return prints_; }

 private:
  const std::string& path_;
  RunRows rows_;
  bool may_leave_out_, has_all_ = true;
  RowPrints prints_;
  Recorded& to_;
};

Status of_both(SideReader& a, SideReader& b, const std::function<Status(SideReader&)>& what) {
  auto of_b = std::async(std::launch::async, [&] { return what(b); });
  const Status of_a = what(a);
  Status second = of_b.get();
  return of_a ? std::move(second) : of_a;
}

}  // namespace

Result<std::unique_ptr<Compared>> compare_paths(const std::string& path_a, const std::string& path_b,
                                                const DiffOptions& options, const ReadListener& listener,
                                                PairsWanted wanted) {
  auto tolerances = Tolerances::parse(options.tolerances);
  if (!tolerances) return Error{Code::kInvalid, "tolerances, " + tolerances.error().message};
  const auto renames = Renames::parse(options.names);
  if (!renames) return Error{Code::kInvalid, "names, " + renames.error().message};
  if (options.rtol) {
    if (!PairTolerance{*options.rtol, options.atol}.is_valid())
      return Error{Code::kInvalid, "rtol and atol are numbers from 0"};
    tolerances->set_default({*options.rtol, options.atol, options.any_dtype});
  } else if (options.atol != 0 || options.any_dtype) {
    return Error{Code::kInvalid, "atol and any_dtype want rtol, too: without it each dtype has its own"};
  }
  const bool are_containers = is_one_container(path_a) && is_one_container(path_b);
  const Reading how{.names = are_containers ? Reading::Names::kOfTensors : Reading::Names::kWithFiles};
  auto compared = std::make_unique<Compared>();
  SideReader a(path_a, options, listener, how, wanted, compared->a),
      b(path_b, options, listener, how, wanted, compared->b);
  if (Status read = of_both(a, b, &SideReader::read); !read) return read.error();
  const auto read_again = [&](const std::set<std::uint64_t>* only) {
    return of_both(a, b, [&](SideReader& side) { return side.read_again(only); });
  };
  const bool leaves_out = a.may_leave_out() && b.may_leave_out() && !(a.has_all() && b.has_all());
  if (leaves_out) {
    const std::set<std::uint64_t> unequal = RowPrints::unequal(a.prints(), b.prints());
    if (Status read = read_again(&unequal); !read) return read.error();
  } else if (!a.has_all() || !b.has_all()) {
    if (Status read = read_again(nullptr); !read) return read.error();
  }
  pair_up(*compared, *renames, *tolerances);
  if (leaves_out && compared->differences.has_unpaired() && is_of_watch(compared->a.record, &compared->a.hints)) {
    // Whether a watch was told to leave a row out is seen in the rows of the whole run.
    if (Status read = read_again(nullptr); !read) return read.error();
    pair_up(*compared, *renames, *tolerances);
  } else if (leaves_out) {
    compared->left_out_pairs = a.prints().row_count() - compared->a.record.rows().size();
  }
  const Record &in_a = compared->a.record, &in_b = compared->b.record;
  compared->elements = compare_elements(in_a, in_b, *tolerances, options.meter, compared->differences, listener);
  if (options.first) compared->first = beginnings(in_a, in_b, compared->differences, compared->a.hints);
  return compared;
}

Result<DiffAnswer> diff(const std::string& a, const std::string& b, const DiffOptions& options) try {
  const FloatEnvironment ieee;
  DiffAnswer answer;
  Faults faults;
  const auto compared = compare_paths(a, b, options, faults.listener());
  if (!compared) return compared.error();
  answer.differs = !(*compared)->differences.is_clean();
  answer.json = json_of(**compared);
  answer.faults = std::move(faults).taken();
  return answer;
} catch (const std::bad_alloc&) {
  return out_of_memory();
} catch (const std::system_error& fault) {  // no thread
  return Error{Code::kOutOfMemory, fault.what()};
}

Result<OriginAnswer> origin(const std::string& path, const OriginOptions& options) try {
  const FloatEnvironment ieee;
  OriginAnswer answer;
  Faults faults;
  const auto run = search_run(path, options.meter, faults.listener(),
                              {.nan_only = options.nan_only, .ended_inf = options.inf, .with_lists = true});
  if (!run) return run.error();
  answer.is_clean = run->answer.verdict.kind == FaultKind::kNone;
  answer.json = json_of(run->record, run->answer);
  answer.faults = std::move(faults).taken();
  return answer;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
