#include "stats/answer/findings/silent_rules.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "stats/answer/findings/finding_words.hpp"
#include "stats/answer/findings/series_rules.hpp"
#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kLeastSteps = 20;     // of a fault that is there from the first step on
constexpr double kNoise = 0x1p-20;          // of the largest gradient of a step
constexpr double kVaries = 1.01;            // a scale that is taken out is the same in all steps; a clipping's is not
constexpr double kUsualNorm = 2e-3;         // people clip to 0.01 and more
constexpr int kLeastTrainedParameters = 3;  // so that an optimizer is at work

// The rows of one parameter on one rank.
struct OfParameter {
  const HistorySeries *before = nullptr, *written = nullptr, *made = nullptr, *at_step = nullptr;
};

class Silent {
 public:
  Silent(const History& history, const Hints& hints, const std::vector<double>& limits,
         const std::vector<double>& noise, std::set<FindingRule>& judged)
      : history_(history), hints_(hints), limits_(limits), noise_(noise), judged_(judged) {
    for (const HistorySeries& series : history.series()) {
      const HistoryTensor& tensor = history.tensors()[series.tensor];
      if (tensor.call != 0 || series.cells.empty()) continue;
      const RowKind kind = row_kind(history.op_type(series.tensor));
      if (series.cells.size() >= kLeastSteps) ran_.emplace(series.rank, history.op_name(series.tensor));
      if (kind == RowKind::kLoss) losses_[series.rank].push_back(&series);
      if (kind != RowKind::kParameter && kind != RowKind::kGradient) continue;
      OfParameter& all = ranks_[series.rank][history.op_name(series.tensor)];
      if (kind == RowKind::kParameter) {
        (tensor.is_input ? all.before : all.written) = &series;
      } else {
        (tensor.is_input ? all.made : all.at_step) = &series;
        last_gradient_[series.rank] = std::max(last_gradient_[series.rank], end_of(series));
      }
    }
  }

  std::vector<SilentFault> found() {
    for (const auto& [rank, parameters] : ranks_) {
      find_stuck(rank, parameters);
      find_dead_gradients(rank, parameters);
      find_unreached(rank, parameters);
      find_shrunk(parameters);
    }
    for (const std::uint32_t rank : history_.ranks()) find_modes(rank);
    find_dead_from_the_start();
    std::ranges::stable_sort(found_, {}, &SilentFault::series);  // in the order of execution
    return std::move(found_);
  }

 private:
  using Parameters = std::map<std::string_view, OfParameter>;

  std::uint64_t end_of(const HistorySeries& series) const { return history_.iteration(series.cells.back()); }
  double limit(FindingRule rule) const { return limits_[static_cast<std::size_t>(rule)]; }
  std::string steps(double count) const { return shown_count(static_cast<std::uint64_t>(count), "step"); }

  // Counts the cells from `iteration` on with a gradient above the noise and above kShareOfGreatest of its greatest.
  std::size_t strong_cells(const HistorySeries& gradient, std::uint64_t iteration) const {
    double greatest = 0;
    for (const HistoryCell& cell : gradient.cells) {
      const double size = history_.absmax(cell);
      if (std::isfinite(size)) greatest = std::max(greatest, size);
    }
    const auto is_strong = [&](const HistoryCell& cell) {
      const double size = history_.absmax(cell);
      return history_.iteration(cell) >= iteration && size > noise_[cell.place] && size > kShareOfGreatest * greatest;
    };
    return static_cast<std::size_t>(std::ranges::count_if(gradient.cells, is_strong));
  }

  void find_stuck(std::uint32_t rank, const Parameters& parameters) {
    for (const auto& [name, all] : parameters) {
      const HistorySeries* gradient = all.made != nullptr ? all.made : all.at_step;
      if (all.written == nullptr || gradient == nullptr || end_of(*all.written) < last_gradient_[rank]) continue;
      const auto& prints = all.written->fingerprints;
      if (prints.empty() || prints.back() == 0) continue;
      judged_.insert(FindingRule::kStuck);
      std::size_t first = prints.size();
      while (first > 0 && prints[first - 1] == prints.back()) --first;
      const auto equal = static_cast<double>(prints.size() - first);
      const HistoryCell& begin = all.written->cells[std::min(first, prints.size() - 1)];
      const bool is_finite = !history_.has_nan(begin) && !history_.has_inf(begin);
      if (!is_finite || equal < limit(FindingRule::kStuck)) continue;
      const std::uint64_t since = history_.iteration(begin);
      if (static_cast<double>(strong_cells(*gradient, since)) < limit(FindingRule::kStuck)) continue;
      found_.push_back({FindingRule::kStuck, all.written, since, equal,
                        label_of(RowKind::kParameter, name) + " (" + std::string(history_.dtype(begin)) +
                            ") is written and does not change for " + steps(equal) + ", and its gradient is not 0"});
    }
  }

  bool is_loss_zero(std::uint32_t rank) const {
    const auto losses = losses_.find(rank);
    return losses != losses_.end() && std::ranges::any_of(losses->second, [&](const HistorySeries* each) {
             return history_.absmax(each->cells.back()) == 0;
           });
  }

  // It was another value, and is all 0 to the end.
  void find_dead_gradients(std::uint32_t rank, const Parameters& parameters) {
    if (is_loss_zero(rank)) return;
    for (const auto& [name, all] : parameters) {
      if (all.made == nullptr || end_of(*all.made) < last_gradient_[rank]) continue;
      const auto& cells = all.made->cells;
      std::size_t first = cells.size();
      while (first > 0 && history_.absmax(cells[first - 1]) == 0) --first;
      const auto zeros = static_cast<double>(cells.size() - first);
      if (first == 0 || zeros < limit(FindingRule::kDead)) continue;
      const std::uint64_t since = history_.iteration(cells[first]);
      found_.push_back({FindingRule::kDead, all.made, since, zeros,
                        label_of(RowKind::kGradient, name) + " is all 0 since iteration " + std::to_string(since)});
    }
  }

  bool is_all_zero(const HistorySeries& series) const {
    return series.cells.size() >= kLeastSteps &&
           std::ranges::all_of(series.cells, [&](const HistoryCell& cell) { return history_.absmax(cell) == 0; });
  }

  // Whether the module has gradients, and each of them is all 0 in every iteration.
  bool is_untrained(std::uint32_t rank, std::string_view module) {
    if (is_loss_zero(rank)) return false;
    const std::string inside = std::string(module) + ".";
    const Parameters& parameters = ranks_[rank];
    bool has_gradients = false;
    for (auto entry = parameters.lower_bound(inside); entry != parameters.end() && entry->first.starts_with(inside);
         ++entry) {
      if (entry->second.made == nullptr) continue;
      if (!is_all_zero(*entry->second.made)) return false;
      has_gradients = true;
    }
    return has_gradients;
  }

  // Finds outputs that are all 0 in every iteration, if a ReLU made them or all gradients of their module are 0, too.
  // If one module contains another, the inner one is named.
  void find_dead_from_the_start() {
    std::map<std::uint32_t, std::vector<std::string>> dead;  // modules
    std::vector<std::pair<const HistorySeries*, std::string>> others;
    const auto add = [&](const HistorySeries& series) {
      found_.push_back({FindingRule::kDead, &series, history_.iteration(series.cells.front()),
                        static_cast<double>(series.cells.size()),
                        label_of(history_, series) + " is all 0 from its first iteration on"});
    };
    for (const HistorySeries& series : history_.series()) {
      const bool is_output =
          kind_of(history_, series) == TensorKind::kForward && !history_.tensors()[series.tensor].is_input;
      if (!is_output || !is_all_zero(series)) continue;
      const std::string type = lower_case(std::string(history_.op_type(series.tensor)));
      std::string module(directed_name_of(history_.op_name(series.tensor)).stem);
      if (type.find("relu") != type.npos && type.find("leaky") == type.npos) {
        add(series);
        dead[series.rank].push_back(std::move(module));
      } else if (is_untrained(series.rank, module)) {
        dead[series.rank].push_back(module);
        others.emplace_back(&series, std::move(module));
      }
    }
    for (const auto& [series, module] : others) {
      const auto is_inside = [inside = module + "."](const std::string& each) { return each.starts_with(inside); };
      if (std::ranges::none_of(dead[series->rank], is_inside)) add(*series);
    }
  }

  bool has_run(std::uint32_t rank, std::string_view module) const {
    return module.empty() || ran_.contains({rank, std::string(module) + "/forward"});
  }

  void find_unreached(std::uint32_t rank, const Parameters& parameters) {
    const std::set<std::string>& trained = hints_.trained_parameters(rank);
    std::size_t longest = 0;
    int with_gradient = 0;
    for (const auto& [name, all] : parameters) {
      if (all.made == nullptr) continue;
      longest = std::max(longest, all.made->cells.size());
      with_gradient += trained.contains(std::string(name)) ? 1 : 0;
    }
    if (with_gradient < kLeastTrainedParameters || static_cast<double>(longest) < limit(FindingRule::kUnreached))
      return;
    judged_.insert(FindingRule::kUnreached);
    for (const auto& [name, all] : parameters) {
      const bool has_any = all.made != nullptr || all.at_step != nullptr || all.written != nullptr;
      if (has_any || all.before == nullptr || !trained.contains(std::string(name))) continue;
      const auto dot = name.rfind('.');
      if (!has_run(rank, name.substr(0, dot == name.npos ? 0 : dot))) continue;
      found_.push_back({FindingRule::kUnreached, all.before, history_.iteration(all.before->cells.front()),
                        static_cast<double>(longest),
                        label_of(RowKind::kParameter, name) + " asks for a gradient and has none in " +
                            steps(static_cast<double>(longest)) + ", though its module runs"});
    }
  }

  // The gradients of one iteration before they are divided, over those that the step gets.
  struct Shrinkage {
    std::vector<double> ratios;
    double squares_at_step = 0;
  };

  void find_shrunk(const Parameters& parameters) {
    std::map<std::uint32_t, Shrinkage> places;
    const HistorySeries* first = nullptr;
    for (const auto& [name, all] : parameters) {
      if (all.made == nullptr || all.at_step == nullptr) continue;
      std::size_t made = 0;
      for (const HistoryCell& cell : all.at_step->cells) {
        while (made < all.made->cells.size() && all.made->cells[made].place < cell.place) ++made;
        if (made == all.made->cells.size() || all.made->cells[made].place != cell.place) continue;
        const double before = history_.size(all.made->cells[made]), after = history_.size(cell);
        if (!std::isfinite(before) || !(before > 0) || !std::isfinite(after) || !(after > 0)) continue;
        places[cell.place].ratios.push_back(before / after);
        places[cell.place].squares_at_step += after * after;
        if (first == nullptr) first = all.at_step;
      }
    }
    if (places.size() < kLeastSteps) return;
    judged_.insert(FindingRule::kShrunk);
    double least = HUGE_VAL, most = 0, norm = 0;
    for (auto& [place, each] : places) {
      const auto middle = each.ratios.begin() + static_cast<std::ptrdiff_t>(each.ratios.size() / 2);
      std::ranges::nth_element(each.ratios, middle);
      least = std::min(least, *middle);
      most = std::max(most, *middle);
      norm = std::max(norm, std::sqrt(each.squares_at_step));
    }
    if (least < limit(FindingRule::kShrunk) || most < kVaries * least || norm >= kUsualNorm) return;
    found_.push_back({FindingRule::kShrunk, first, history_.iteration(first->cells.front()), least,
                      "gradients are divided by " + shown_number(least) +
                          " and more between backward and the step, in all of " +
                          steps(static_cast<double>(places.size())) + ", and their norm at the step is at most " +
                          shown_number(norm)});
  }

  // A module that trained, and is in eval mode to the end while gradients are taken.
  void find_modes(std::uint32_t rank) {
    const auto& modes = hints_.modes(rank);
    if (hints_.is_of_watch()) judged_.insert(FindingRule::kMode);
    for (const HistorySeries& series : history_.series()) {
      const HistoryTensor& tensor = history_.tensors()[series.tensor];
      if (series.rank != rank || tensor.is_input || tensor.slot != 0 || tensor.call != 0) continue;
      const DirectedName call = directed_name_of(history_.op_name(series.tensor));
      if (call.direction != Direction::kForward || call.writer != DirectedName::Writer::kWatch) continue;
      const std::string_view name = call.stem;
      const auto mode = modes.find(escaped_op_name(name));
      if (mode == modes.end() || mode->second.is_training) continue;
      const std::string type = lower_case(std::string(history_.op_type(series.tensor)));
      const auto is = [&](std::string_view word) { return type.find(word) != type.npos; };
      if (!is("drop") && !is("batchnorm") && !is("batch_norm") && !is("instancenorm") && !is("rrelu")) continue;
      std::set<std::uint64_t> iterations;  // with gradients
      for (const auto& [parameter, all] : ranks_[rank]) {
        if (all.made == nullptr) continue;
        for (const HistoryCell& cell : all.made->cells) {
          if (history_.iteration(cell) >= mode->second.iteration) iterations.insert(history_.iteration(cell));
        }
        if (static_cast<double>(iterations.size()) >= limit(FindingRule::kMode)) break;
      }
      if (static_cast<double>(iterations.size()) < limit(FindingRule::kMode)) continue;
      found_.push_back({FindingRule::kMode, &series, mode->second.iteration, static_cast<double>(iterations.size()),
                        std::string(name) + " (" + std::string(history_.op_type(series.tensor)) +
                            ") is in eval mode while gradients are taken, since iteration " +
                            std::to_string(mode->second.iteration)});
    }
  }

  const History& history_;
  const Hints& hints_;
  const std::vector<double>& limits_;
  const std::vector<double>& noise_;
  std::set<FindingRule>& judged_;
  std::map<std::uint32_t, Parameters> ranks_;
  std::set<std::pair<std::uint32_t, std::string>>
      ran_;  // names with rows in at least kLeastSteps iterations, with their ranks
  std::map<std::uint32_t, std::vector<const HistorySeries*>> losses_;
  std::map<std::uint32_t, std::uint64_t> last_gradient_;
  std::vector<SilentFault> found_;
};

}  // namespace

std::vector<double> noise_of_steps(const History& history) {
  std::vector<double> noise(history.places().size());
  for (const HistorySeries& series : history.series()) {
    if (kind_of(history, series) != TensorKind::kGradient) continue;
    for (const HistoryCell& cell : series.cells) {
      const double size = history.absmax(cell);
      if (std::isfinite(size)) noise[cell.place] = std::max(noise[cell.place], kNoise * size);
    }
  }
  return noise;
}

std::set<std::pair<std::uint32_t, std::uint32_t>> noisy_parameters(const History& history,
                                                                   const std::vector<double>& noise) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> noisy;
  for (const HistorySeries& series : history.series()) {
    if (kind_of(history, series) != TensorKind::kGradient) continue;
    const auto is_small = [&](const HistoryCell& cell) { return is_noise(history, series, cell, noise); };
    const auto count = static_cast<std::size_t>(std::ranges::count_if(series.cells, is_small));
    if (2 * count > series.cells.size()) noisy.insert({series.rank, history.tensors()[series.tensor].op_name});
  }
  return noisy;
}

std::vector<SilentFault> silent_faults(const History& history, const Hints& hints, const std::vector<double>& limits,
                                       const std::vector<double>& noise, std::set<FindingRule>& judged) {
  return Silent(history, hints, limits, noise, judged).found();
}

}  // namespace tensorstat
