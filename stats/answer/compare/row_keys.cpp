#include "stats/answer/compare/row_keys.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "stats/answer/compare/differences.hpp"
#include "stats/answer/origin/model.hpp"
#include "stats/data/rows/names/direction.hpp"
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

// Marks the rows of one rank and iteration that are named as an evaluation's and are the training's. The model may have
// been evaluated before. So its last calls are meant, as many as have a backward.
void mark_training(const Record& record, std::uint32_t rank, std::uint32_t first, std::uint32_t last,
                   std::vector<bool>& is_training) {
  using Tensor = std::tuple<std::uint32_t, bool, std::uint32_t>;  // name, is_input, slot
  std::map<Tensor, std::vector<std::uint32_t>> rows;
  std::map<Tensor, std::uint64_t> backward;
  std::uint64_t call_count = 0, backward_count = 0;  // of the outermost module
  for (std::uint32_t run = first; run < last; ++run) {
    for (const RecordRow& row : record.run(run)) {
      if (row.rank != rank) continue;
      const DirectedName name = directed_name_of(record.texts()[row.name]);
      const bool is_outermost = name.stem == record.texts()[row.op_type];
      const Tensor tensor{row.name, row.is_input, row.slot};
      if (name.direction == Direction::kEvaluation) {
        auto& same = rows[tensor];
        same.push_back(static_cast<std::uint32_t>(&row - record.rows().data()));
        if (is_outermost) call_count = std::max<std::uint64_t>(call_count, same.size());
      } else if (name.direction == Direction::kBackward && is_outermost && row.is_input) {
        backward_count = std::max(backward_count, ++backward[tensor]);
      }
    }
  }
  const std::uint64_t before = backward_count != 0 && call_count > backward_count ? call_count - backward_count : 0;
  for (const auto& [tensor, same] : rows) {
    const std::size_t skipped = before == 0 ? 0 : same.size() * before / call_count;
    for (std::size_t i = skipped; i < same.size(); ++i) is_training[same[i]] = true;
  }
}

// Marks the rows of calls in eval mode that train the model: a watch names them as an evaluation's. Empty if a run has
// no such row.
std::vector<bool> trained_in_eval_mode(const Record& record) {
  std::vector<bool> is_training;
  const auto is_of_evaluation = [&](const RecordRow& row) {
    return directed_name_of(record.texts()[row.name]).direction == Direction::kEvaluation;
  };
  for (std::uint32_t first = 0, last = 0; first < record.run_count(); first = last) {
    std::set<std::uint32_t> ranks;
    const std::uint64_t iteration = record.run(first).front().iteration;
    for (; last < record.run_count() && record.run(last).front().iteration == iteration; ++last) {
      if (is_of_evaluation(record.run(last).front())) ranks.insert(record.run(last).front().rank);
    }
    for (const std::uint32_t rank : ranks) {
      if (parts_of(record, Form::kWatch, rank, first, last) != std::vector{Part::kAll}) continue;
      is_training.resize(record.rows().size());
      mark_training(record, rank, first, last, is_training);
    }
  }
  return is_training;
}

}  // namespace

std::vector<Key> keys_of(const Record& record, const Renames* renames, const Pairing& pairing, InternedTexts& shared) {
  struct Names {
    std::uint32_t escaped = InternedTexts::kNone, spelling = InternedTexts::kNone;
  };
  std::vector<Names> known(record.texts().size());
  const std::uint32_t RecordRow::*const called = pairing.by_tensor ? &RecordRow::tensor : &RecordRow::name;
  const std::vector<bool> is_training = pairing.by_kind ? trained_in_eval_mode(record) : std::vector<bool>();
  std::vector<Key> keys;
  keys.reserve(record.rows().size());
  for (std::uint32_t i = 0; i < record.rows().size(); ++i) {
    const RecordRow& row = record.rows()[i];
    Names& names = known[row.*called];
    if (names.escaped == InternedTexts::kNone) {
      const std::string_view own = record.texts()[row.*called];
      const std::string spelling(without_gradient_count(renames ? renames->of(own) : std::string(own)));
      names.escaped = shared.id(escaped_op_name(spelling));
      names.spelling = shared.id(spelling);
    }
    auto [name, spelling] = names;
    if (!is_training.empty() && is_training[i]) {
      const std::string stem(directed_name_of(shared[name]).stem), spelled(directed_name_of(shared[spelling]).stem);
      name = shared.id(stem + escaped_op_name(kForwardEnding));
      spelling = shared.id(spelled + std::string(kForwardEnding));
    }
    const bool is_of_file = !record.texts()[row.file].empty() && record.texts()[row.op_type] == "Tensor";
    if (spelling == name && !is_of_file) spelling = InternedTexts::kNone;
    const std::uint32_t slot = pairing.by_argument ? shared.id(record.texts()[row.argument]) : row.slot;
    const RowKind kind = pairing.by_kind ? told_apart(row_kind(record.texts()[row.op_type])) : RowKind::kOfCall;
    keys.push_back({name, row.rank, row.iteration, !row.is_input, kind, slot,
                    pairing.by_execution ? row.execution : Execution::kUnknown, i, spelling});
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
