#include "stats/answer/compare/left_out_rows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kNames[kLeftOutCount] = {"evaluation", "rank", "iteration", "not_watched", "repeated"};
constexpr std::string_view kWords[kLeftOutCount] = {"of evaluations", "of ranks that the other has not",
                                                    "of iterations that the other did not watch",
                                                    "that the other was told to leave out", "that repeat a value"};

// The ranks, iterations and kinds of rows that a run wrote.
class Written {
 public:
  explicit Written(const Record& record) {
    std::set<std::uint32_t> types;  // few: each is looked up once
    for (const RecordRow& row : record.rows()) {
      auto& last = last_of_.try_emplace(row.rank, row.iteration).first->second;
      last = std::max(last, row.iteration);
      iterations_.emplace(row.rank, row.iteration);
      types.insert(row.op_type);
    }
    for (const std::uint32_t type : types) kinds_.insert(row_kind(record.texts()[type]));
  }

  bool has_rank(std::uint32_t rank) const { return last_of_.contains(rank); }
  bool has(const RecordRow& row) const { return iterations_.contains({row.rank, row.iteration}); }
  bool has_kind(RowKind kind) const { return kinds_.contains(kind); }
  // Whether the run's watch was not on in this iteration: not yet, or it was between others that it has.
  bool was_off(const RecordRow& row, std::uint64_t every) const {
    if (has(row)) return false;
    const std::uint64_t last = last_of_.at(row.rank);
    return row.iteration < last || (row.iteration % every != 0 && row.iteration - last < every);
  }

 private:
  std::map<std::uint32_t, std::uint64_t> last_of_;                // the last iteration, by rank
  std::set<std::pair<std::uint32_t, std::uint64_t>> iterations_;  // with their ranks
  std::set<RowKind> kinds_;
};

class OtherWatch {
 public:
  OtherWatch(const Side& own, const Side& other, const Tolerances& tolerances)
      : own_(own), other_(other), tolerances_(tolerances), written_(other.record) {
    for (const Key& key : other.keys) {
      if (is_of_parameter(other.record, key)) earlier_[series_of(key)].emplace(when(key), key.row);
      names_.insert(key.name);
    }
  }

  // Why the other run has no such row; nullopt: it should have one.
  std::optional<LeftOut> reason(const Key& key) const {
    const RecordRow& row = own_.record.rows()[key.row];
    if (directed_name_of(name_of(row)).direction == Direction::kEvaluation) return LeftOut::kEvaluation;
    if (!written_.has_rank(row.rank)) return LeftOut::kRank;
    const Watched* watched = other_.hints != nullptr && other_.hints->watched() ? &*other_.hints->watched() : nullptr;
    if (written_.was_off(row, watched != nullptr ? watched->every : 1)) return LeftOut::kIteration;
    if (!written_.has(row)) return std::nullopt;  // the other run has ended before
    if (own_.has_wrapper && !other_.has_wrapper && directed_name_of(name_of(row)).stem == "module")
      return LeftOut::kNotWatched;
    const bool is_at_step = row_kind(own_.record.texts()[row.op_type]) == RowKind::kGradient && !row.is_input;
    if (is_at_step && other_.hints != nullptr && other_.hints->are_gradients_gone(row.rank, row.iteration))
      return LeftOut::kNotWatched;
    if (watched != nullptr && !is_watched(row, key, *watched)) return LeftOut::kNotWatched;
    return std::nullopt;
  }

  // The row that the other run wrote last of this value or gradient.
  std::optional<std::uint32_t> before(const Key& key) const {
    if (!is_of_parameter(own_.record, key) || !written_.has(own_.record.rows()[key.row])) return std::nullopt;
    const auto rows = earlier_.find(series_of(key));
    if (rows == earlier_.end()) return std::nullopt;
    const auto next = rows->second.lower_bound(when(key));
    if (next == rows->second.begin()) return std::nullopt;
    const auto& [then, row] = *std::prev(next);
    if (key.kind == RowKind::kGradient && then.first != key.iteration) return std::nullopt;
    return row;
  }

  bool differs(std::uint32_t own, std::uint32_t other) const {
    const RecordRow &mine = own_.record.rows()[own], &its = other_.record.rows()[other];
    const auto& texts = own_.record.texts();
    const Tolerance tolerance = tolerances_.of(texts[mine.name], texts[mine.dtype]);
    return judge(own_.record, mine, other_.record, its, tolerance).verdict == Verdict::kDifferent;
  }

 private:
  using Series = std::tuple<std::uint32_t, std::uint32_t, RowKind, std::uint32_t>;
  using When = std::pair<std::uint64_t, bool>;

  static Series series_of(const Key& key) { return {key.name, key.rank, key.kind, key.slot}; }
  static When when(const Key& key) { return {key.iteration, key.is_output}; }
  static bool is_of_parameter(const Record& record, const Key& key) {
    const RowKind kind = row_kind(record.texts()[record.rows()[key.row].op_type]);
    return kind == RowKind::kParameter || kind == RowKind::kGradient;
  }

  std::string_view name_of(const RecordRow& row) const { return own_.record.texts()[row.name]; }

  bool is_watched(const RecordRow& row, const Key& key, const Watched& watched) const {
    const RowKind kind = row_kind(own_.record.texts()[row.op_type]);
    if (!watched.has_all_names && !names_.contains(key.name)) return false;
    if (kind == RowKind::kGradient) return watched.has_gradients && (!watched.is_of_whole || !row.is_input);
    if (kind == RowKind::kParameter) return watched.has_parameters && (!watched.is_of_whole || !row.is_input);
    if (kind != RowKind::kOfCall) return written_.has_kind(kind);
    const DirectedName call = directed_name_of(name_of(row));
    const bool is_backward = call.direction == Direction::kBackward;
    if (is_backward && (!watched.has_gradients || watched.is_of_whole)) return false;
    if (!watched.has_operations && call.stem.find('/') != std::string_view::npos) return false;
    const bool is_of_argument = is_backward != row.is_input;  // outermost modules have these in every watch
    if (watched.is_of_whole && is_of_argument) return false;
    return watched.has_all_inputs || !is_of_argument || !names_.contains(key.name);
  }

  const Side &own_, &other_;
  const Tolerances& tolerances_;
  Written written_;
  std::set<std::uint32_t> names_;  // that the other run has
  std::map<Series, std::map<When, std::uint32_t>> earlier_;
};

}  // namespace

std::string_view name(LeftOut why) { return kNames[static_cast<std::size_t>(why)]; }

std::string words_of(const LeftOutCounts& counts) {
  std::string words;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    words += (words.empty() ? "" : ", ") + std::to_string(counts[i]) + " " + std::string(kWords[i]);
  }
  return words;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> take_left_out(const Side& own, const Side& other,
                                                                   const Tolerances& tolerances,
                                                                   std::vector<std::uint32_t>& only,
                                                                   LeftOutCounts& counts) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> changed;
  if (only.empty()) return changed;
  const OtherWatch watch(own, other, tolerances);
  std::unordered_map<std::uint32_t, const Key*> key_of;
  for (const Key& key : own.keys) key_of.emplace(key.row, &key);
  std::erase_if(only, [&](std::uint32_t row) {
    const Key& key = *key_of.at(row);
    std::optional<LeftOut> why = watch.reason(key);
    const auto before = why ? std::nullopt : watch.before(key);
    if (before && watch.differs(row, *before)) {
      changed.emplace_back(row, *before);
    } else if (before) {
      why = LeftOut::kRepeated;
    }
    if (why) ++counts[static_cast<std::size_t>(*why)];
    return why.has_value();
  });
  return changed;
}

}  // namespace tensorstat
