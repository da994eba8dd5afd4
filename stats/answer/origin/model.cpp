#include "stats/answer/origin/model.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

bool is_of_evaluation(const Record& record, const RecordRow& row) {
  return row_kind(record.texts()[row.op_type]) == RowKind::kOfCall &&
         directed_name_of(record.texts()[row.name]).direction == Direction::kEvaluation;
}

// The phase that a name of msprobe's says.
std::optional<Phase> phase_of_call(std::string_view name) {
  const DirectedName call = directed_name_of(name);
  if (call.writer != DirectedName::Writer::kMsprobe) return std::nullopt;
  if (call.direction == Direction::kParameterGradients) return Phase::kGradient;
  return call.direction == Direction::kBackward ? Phase::kBackward : Phase::kForward;
}

Phase phase_in_graph(std::string_view type, std::string_view name) {
  constexpr std::string_view kOfOptimizers[] = {"Apply",     "FusedApply", "SparseApply", "Adam",
                                                "FusedAdam", "Lamb",       "Momentum"};
  if (row_kind(type) == RowKind::kParameter) return Phase::kParameter;
  if (is_of_backward(name)) return Phase::kBackward;
  for (const std::string_view word : kOfOptimizers) {
    if (type.starts_with(word)) return Phase::kOptimizer;
  }
  return Phase::kForward;
}

// The calls of one rank and iteration, put together of runs.
class Builder {
 public:
  Builder(const Record& record, Form form, Hints& hints) : record_(record), hints_(hints) { model_.form = form; }

  Model build(std::uint32_t rank, std::uint32_t first, std::uint32_t last, Part part) {
    model_.is_evaluation = part == Part::kEvaluation;
    for (std::uint32_t run = first; run < last; ++run) {
      const RecordRow& seen = record_.run(run).front();
      // The values of parameters before anything ran belong to both.
      const bool is_of_both =
          part == Part::kAll || (seen.is_input && row_kind(text(seen.op_type)) == RowKind::kParameter);
      const bool is_wanted = is_of_both || is_of_evaluation(record_, seen) == model_.is_evaluation;
      if (seen.rank == rank && is_wanted) add(run);
    }
    for (Call& call : model_.calls) set_times(call);
    if (!is_flat(model_.form)) find_parents();
    if (model_.form == Form::kModules) order_as_tree();
    return std::move(model_);
  }

 private:
  std::string_view text(std::uint32_t id) const { return record_.texts()[id]; }

  // The outputs of one call and the inputs of the next stand in one run where nothing is between them.
  void add(std::uint32_t run) {
    const auto rows = record_.run(run);
    const std::string_view name = text(rows.front().name);
    if (model_.form == Form::kWatch && !rows.front().is_input &&
        (directed_name_of(name).direction == Direction::kForward || is_of_evaluation(record_, rows.front()))) {
      const auto next = std::ranges::find_if(rows, &RecordRow::is_input);
      add(rows.first(static_cast<std::size_t>(next - rows.begin())));
      if (next != rows.end()) add(rows.last(static_cast<std::size_t>(rows.end() - next)));
    } else {
      add(rows);
    }
  }

  void add(std::span<const RecordRow> rows) {
    const auto first = static_cast<std::uint32_t>(&rows.front() - record_.rows().data());
    std::vector<std::uint32_t> inputs, outputs;
    for (std::uint32_t i = 0; i < rows.size(); ++i) (rows[i].is_input ? inputs : outputs).push_back(first + i);
    const RecordRow& seen = rows.front();
    const std::string_view type = text(seen.op_type), name = text(seen.name);
    if (model_.form == Form::kLaunches) return put(Phase::kForward, seen, inputs, outputs);
    if (model_.form == Form::kGraph) return put(phase_in_graph(type, name), seen, inputs, outputs);
    if (model_.form == Form::kModules) return put(phase_of_call(name).value_or(Phase::kForward), seen, inputs, outputs);
    switch (row_kind(type)) {
      case RowKind::kOfCall:
        return put(is_of_backward(name) ? Phase::kBackward : Phase::kForward, seen, inputs, outputs);
      case RowKind::kParameter:  // before the step, and behind it
        if (!inputs.empty()) put(Phase::kParameter, seen, inputs, {});
        if (!outputs.empty()) put(Phase::kOptimizer, seen, {}, outputs);
        return;
      case RowKind::kGradient:
        return put(Phase::kGradient, seen, inputs, outputs);
      case RowKind::kOptimizerState:
        return put(Phase::kOptimizer, seen, inputs, outputs);
      case RowKind::kUpdate:  // is not finite where the parameter is not
        return;
      case RowKind::kBuffer:
        return put(Phase::kBuffer, seen, inputs, outputs);
      case RowKind::kLoss:
        return put(Phase::kLoss, seen, inputs, outputs);
    }
  }

  // The rows belong to a call that waits for them, or begin a new one. A call that is run inside a call of its own name
  // ends first.
  void put(Phase phase, const RecordRow& seen, const std::vector<std::uint32_t>& inputs,
           const std::vector<std::uint32_t>& outputs) {
    std::vector<std::uint32_t>& known = by_name_[{seen.name, phase}];
    const auto has = [&](const std::vector<std::uint32_t>& rows, const std::vector<std::uint32_t>& more) {
      return std::ranges::any_of(more, [&](std::uint32_t row) {
        return std::ranges::any_of(
            rows, [&](std::uint32_t other) { return record_.rows()[other].slot == record_.rows()[row].slot; });
      });
    };
    Call* call = nullptr;
    if (!is_flat(model_.form)) {
      constexpr std::ptrdiff_t kMostOpenCalls = 256;  // calls of one name at a time
      for (auto index = known.rbegin();
           index != known.rend() && call == nullptr && index - known.rbegin() < kMostOpenCalls; ++index) {
        Call& each = model_.calls[*index];
        if (has(each.inputs, inputs) || has(each.outputs, outputs)) continue;
        // A forward has its outputs at once, and all of its inputs before them.
        if (phase == Phase::kForward && (!each.outputs.empty() || !inputs.empty())) continue;
        call = &each;
      }
    }
    if (call == nullptr) {
      known.push_back(static_cast<std::uint32_t>(model_.calls.size()));
      call = &model_.calls.emplace_back();
      call->phase = phase;
      call->rank = seen.rank;
      call->iteration = seen.iteration;
      call->op_type = seen.op_type;
      call->name = seen.name;
      call->nth = static_cast<std::uint32_t>(known.size() - 1);
      call->is_of_loss = is_of_loss(*call);
    }
    call->inputs.insert(call->inputs.end(), inputs.begin(), inputs.end());
    call->outputs.insert(call->outputs.end(), outputs.begin(), outputs.end());
  }

  // An operation between the model and the loss, such as "loss/log.0/forward". A module may be called "loss", too.
  bool is_of_loss(const Call& call) {
    const std::string_view name = text(call.name), path = path_of(model_.form, name);
    const bool is_of_place = call.phase == Phase::kForward || call.phase == Phase::kBackward;
    if (model_.form != Form::kWatch || !is_of_place || !path.starts_with("loss/")) return false;
    const auto parent = hints_.parent_of(call.rank, call.iteration, std::string(path) + std::string(kForwardEnding));
    return !parent || parent->empty();
  }

  static void set_times(Call& call) {
    call.begin = call.inputs.empty() ? call.outputs.front() : call.inputs.front();
    call.end = call.outputs.empty() ? call.inputs.back() : call.outputs.back();
    if (!call.outputs.empty()) call.begin = std::min<std::uint64_t>(call.begin, call.outputs.front());
  }

  void find_parents() {
    std::unordered_map<std::string, std::vector<std::uint32_t>> calls;  // by names as they are in files
    std::uint64_t first_backward = UINT64_MAX;
    for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
      const Call& call = model_.calls[i];
      if (call.phase == Phase::kForward || call.phase == Phase::kBackward)
        calls[escaped_op_name(text(call.name))].push_back(i);
      if (call.phase == Phase::kBackward) first_backward = std::min(first_backward, call.begin);
    }
    for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
      Call& call = model_.calls[i];
      if ((call.phase != Phase::kForward && call.phase != Phase::kBackward) || call.is_of_loss) continue;
      const std::string parent = escaped_op_name(parent_name_of(call, calls));
      if (parent.empty()) continue;
      const auto entry = calls.find(parent);
      if (entry == calls.end()) {
        call.has_unseen_parent = true;
        continue;
      }
      call.parent = instance_of(entry->second, i);
      if (call.parent != kNoCall && is_cycle(i)) call.parent = kNoCall;
      if (call.parent == kNoCall && call.phase == Phase::kForward && call.begin > first_backward) call.is_again = true;
    }
  }

  template <typename Calls>
  std::string parent_name_of(const Call& call, const Calls& calls) {
    const std::string_view name = text(call.name);
    if (auto parent = hints_.parent_of(call.rank, call.iteration, name, call.nth)) return *parent;
    if (model_.form == Form::kWatch) {
      const bool is_backward = call.phase == Phase::kBackward;
      const std::string_view path = path_of(model_.form, name), ending = name.substr(path.size());
      if (is_backward) {  // of its forward
        const std::string forward = std::string(path) + std::string(kForwardEnding);
        const auto parent = hints_.parent_of(call.rank, call.iteration, forward, nth_forward_of(call, forward, calls));
        if (parent && parent->ends_with(kForwardEnding))
          return parent->substr(0, parent->size() - kForwardEnding.size()) + std::string(kBackwardEnding);
        if (parent) return *parent;
      }
      for (std::string_view above = path; !above.empty();) {
        const auto dot = above.find_last_of("./");
        above = above.substr(0, dot == above.npos ? 0 : dot);
        std::string parent = std::string(above) + std::string(ending);
        if (!above.empty() && calls.contains(escaped_op_name(parent))) return parent;
      }
      if (path == text(call.op_type)) return {};
      // A model is named by its class; of several, nobody knows which.
      const std::vector<std::string>& models = models_of(is_backward, ending, calls);
      return models.size() == 1 && models[0] != name ? models[0] : std::string();
    }
    if (!name.starts_with("Module.")) return {};
    if (by_path_.empty()) {
      for (const auto& [key, instances] : calls) {
        const std::string_view other = text(model_.calls[instances[0]].name);
        if (other.starts_with("Module."))
          by_path_.try_emplace({path_of(model_.form, other), model_.calls[instances[0]].phase}, other);
      }
    }
    for (std::string_view above = path_of(model_.form, name); above.find('.') != above.rfind('.');) {  // "Module.a.b"
      above = above.substr(0, above.rfind('.'));
      if (const auto entry = by_path_.find({above, call.phase}); entry != by_path_.end())
        return std::string(entry->second);
    }
    return {};
  }

  // Which call of `forward` a call of backward belongs to: autograd takes the last one first.
  template <typename Calls>
  std::uint32_t nth_forward_of(const Call& backward, const std::string& forward, const Calls& calls) const {
    const auto forwards = calls.find(escaped_op_name(forward));
    const auto backwards = calls.find(escaped_op_name(text(backward.name)));
    if (forwards == calls.end() || backwards == calls.end()) return 0;
    std::vector<std::uint32_t> waiting;
    auto next = forwards->second.begin();
    for (const std::uint32_t each : backwards->second) {
      const Call& call = model_.calls[each];
      for (; next != forwards->second.end() && model_.calls[*next].begin < call.begin; ++next) {
        waiting.push_back(model_.calls[*next].nth);
      }
      if (call.nth == backward.nth) break;
      if (!waiting.empty()) waiting.pop_back();
    }
    return waiting.empty() ? 0 : waiting.back();
  }

  // The outermost models: calls named by their class. At most two are looked for.
  template <typename Calls>
  const std::vector<std::string>& models_of(bool is_backward, std::string_view ending, const Calls& calls) {
    auto& models = models_[is_backward ? 1 : 0];
    if (models) return *models;
    models.emplace();
    for (const auto& [key, instances] : calls) {
      const Call& first = model_.calls[instances[0]];
      const std::string_view other = text(first.name);
      if (other.ends_with(ending) && other.substr(0, other.size() - ending.size()) == text(first.op_type))
        models->emplace_back(other);
      if (models->size() == 2) break;
    }
    return *models;
  }

  // The call of these that call `child` ran inside.
  std::uint32_t instance_of(const std::vector<std::uint32_t>& instances, std::uint32_t child) const {
    const Call& inner = model_.calls[child];
    if (model_.form == Form::kModules) return instances.front() == child ? kNoCall : instances.front();
    const auto call = [&](std::uint32_t index) -> const Call& { return model_.calls[index]; };
    // Calls of one name begin and end one after another.
    const auto behind =
        std::ranges::upper_bound(instances, inner.begin, {}, [&](std::uint32_t index) { return call(index).begin; });
    const std::uint32_t last_begun = behind == instances.begin() ? kNoCall : *std::prev(behind);
    if (inner.phase == Phase::kBackward) {
      const std::uint32_t outer = last_begun == kNoCall ? instances.front() : last_begun;
      return outer == child || call(outer).phase != inner.phase ? kNoCall : outer;
    }
    auto ending =
        std::ranges::lower_bound(instances, inner.end, {}, [&](std::uint32_t index) { return call(index).end; });
    for (; ending != instances.end(); ++ending) {
      const Call& outer = call(*ending);
      if (*ending == child || outer.phase != inner.phase) continue;
      if (outer.inputs.empty() || outer.begin <= inner.begin) return *ending;
      break;
    }
    // Its output was not a tensor.
    const bool has_no_results = last_begun != kNoCall && last_begun != child && call(last_begun).outputs.empty();
    return has_no_results && call(last_begun).phase == inner.phase ? last_begun : kNoCall;
  }

  // msprobe writes a call where it begins, or where backward has all of it: times that have each inside its parent.
  void order_as_tree() {
    std::vector<std::vector<std::uint32_t>> children(model_.calls.size());
    std::vector<std::uint32_t> roots;
    for (std::uint32_t i = 0; i < model_.calls.size(); ++i) {
      Call& call = model_.calls[i];
      (call.parent == kNoCall ? roots : children[call.parent]).push_back(i);
    }
    std::ranges::stable_sort(roots, {}, [&](std::uint32_t call) { return model_.calls[call].phase; });
    std::uint64_t time = 0;
    std::vector<std::pair<std::uint32_t, std::size_t>> open;
    for (const std::uint32_t root : roots) {
      open.emplace_back(root, 0);
      model_.calls[root].begin = time++;
      while (!open.empty()) {
        auto& [call, next] = open.back();
        if (next < children[call].size()) {
          const std::uint32_t child = children[call][next++];
          model_.calls[child].begin = time++;
          open.emplace_back(child, 0);
        } else {
          model_.calls[call].end = time++;
          open.pop_back();
        }
      }
    }
  }

  bool is_cycle(std::uint32_t call) const {
    std::uint32_t ancestor = model_.calls[call].parent;
    for (std::size_t steps = 0; ancestor != kNoCall; ancestor = model_.calls[ancestor].parent) {
      if (ancestor == call || ++steps > model_.calls.size()) return true;
    }
    return false;
  }

  const Record& record_;
  Hints& hints_;
  Model model_;
  std::map<std::pair<std::uint32_t, Phase>, std::vector<std::uint32_t>> by_name_;
  std::optional<std::vector<std::string>> models_[2];                       // of forward and of backward
  std::map<std::pair<std::string_view, Phase>, std::string_view> by_path_;  // names of msprobe's modules
};

}  // namespace

std::string_view name(Phase phase) {
  constexpr std::string_view kNames[] = {"parameter", "input",    "forward",   "loss",
                                         "backward",  "gradient", "optimizer", "buffer"};
  return kNames[static_cast<int>(phase)];
}

bool Model::is_inside(std::uint32_t call, std::uint32_t outer) const {
  for (std::size_t steps = 0; call != kNoCall && steps <= calls.size(); ++steps) {
    call = calls[call].parent;
    if (call == outer) return call != kNoCall;
  }
  return false;
}

std::optional<Form> form_shown_by(std::string_view op_type, std::string_view op_name, bool is_of_operator) {
  const RowKind kind = row_kind(op_type);
  // MindSpore's graphs have rows of parameters, too.
  if (kind != RowKind::kOfCall && kind != RowKind::kParameter) return Form::kWatch;
  if (op_name.ends_with(kForwardEnding) || op_name.ends_with(kBackwardEnding) || op_name.ends_with(kEvalEnding))
    return Form::kWatch;
  if (is_of_operator && phase_of_call(op_name)) return Form::kModules;
  return std::nullopt;
}

Model model_of(const Record& record, Form form, Hints& hints, std::uint32_t rank, std::uint32_t first,
               std::uint32_t last, Part part) {
  return Builder(record, form, hints).build(rank, first, last, part);
}

std::vector<Part> parts_of(const Record& record, Form form, std::uint32_t rank, std::uint32_t first,
                           std::uint32_t last) {
  if (form != Form::kWatch) return {Part::kAll};
  bool has_evaluation = false, has_forward = false, has_backward = false;
  for (std::uint32_t run = first; run < last; ++run) {
    const RecordRow& seen = record.run(run).front();
    if (seen.rank != rank) continue;
    const DirectedName name = directed_name_of(record.texts()[seen.name]);
    has_evaluation |= is_of_evaluation(record, seen);
    has_forward |= name.direction == Direction::kForward && !name.stem.starts_with("loss/");
    has_backward |= name.direction == Direction::kBackward || row_kind(record.texts()[seen.op_type]) == RowKind::kLoss;
  }
  if (!has_evaluation) return {Part::kAll};
  if (has_backward && !has_forward) return {Part::kAll};
  return {Part::kTraining, Part::kEvaluation};
}

std::string_view path_of(Form form, std::string_view op_name) {
  if (form == Form::kWatch) {
    const DirectedName call = directed_name_of(op_name);
    if (call.writer == DirectedName::Writer::kWatch) return call.stem;
  } else if (form == Form::kModules && op_name.starts_with("Module.")) {
    // "Module.a.b" of "Module.a.b.Linear.forward.0" and "Module.a.b.Linear.parameters_grad"
    const DirectedName call = directed_name_of(op_name);
    if (call.writer == DirectedName::Writer::kMsprobe) return call.stem.substr(0, call.stem.rfind('.'));
  }
  return op_name;
}

}  // namespace tensorstat
