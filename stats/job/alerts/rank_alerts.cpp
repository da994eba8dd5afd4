#include "stats/job/alerts/rank_alerts.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "stats/data/files/io/folders.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostSeries = 1'000'000;

bool is_of(const KeptRow& row, const TensorRow& tensor, std::uint32_t graph) {
  const Identity &a = row.row.identity, &b = tensor.row.identity;
  return a.slot == b.slot && row.graph == graph && a.io == b.io && a.op_name == b.op_name && a.op_type == b.op_type;
}

}  // namespace

std::size_t RankAlerts::KeyHash::operator()(const Key& key) const {
  const std::size_t rest = key.slot * 4 + key.graph * 0x9e3779b9U + static_cast<std::size_t>(key.is_input);
  return std::hash<const void*>()(key.op) ^ (rest * 0x9e3779b97f4a7c15U);
}

RankAlerts::RankAlerts(AlertSetup& setup, std::uint32_t rank) : setup_(setup), rank_(rank) {
  if (setup.options.keep_steps == 0) return;
  auto ring = StepRing::open({.folder = setup.rank_folder(rank),
                              .rank = rank,
                              .slot_count = setup.options.keep_steps + 2,
                              .most_bytes = setup.options.keep_bytes,
                              .about = to_text(setup.about)});
  if (ring) {
    ring_ = *std::move(ring);
  } else {
    setup.notices->warn_once("ring", ring.error().message);
  }
}

RankAlerts::Series& RankAlerts::series_of(const SeenTensor& tensor, std::size_t& run) {
  Runs& runs = runs_[{tensor.op, tensor.slot, tensor.graph, tensor.is_input}];
  if (runs.number_of_step != number_of_step_) {
    runs.number_of_step = number_of_step_;
    runs.count = 0;
  }
  run = runs.count;
  if (run == runs.series.size()) {
    auto made = std::make_unique<Series>();
    made->graph = tensor.graph;
    made->is_constant = tensor.is_constant;
    made->row.row.statistics.categories = setup_.about.categories;
    Identity& identity = made->row.row.identity;
    identity.op_type = tensor.op_type;
    identity.op_name = tensor.op_name;
    identity.io = tensor.is_input ? "input" : "output";
    identity.slot = tensor.slot;
    identity.task_id = tensor.task_id;
    identity.stream_id = tensor.stream_id;
    identity.set("rank", std::uint64_t{rank_});
    identity.set("graph", std::uint64_t{tensor.graph});
    for (const Rule& rule : setup_.rules) made->pasts.push_back(rule.new_past());
    made->was_met.resize(setup_.rules.size());
    runs.series.push_back(std::move(made));
    ++series_count_;
  }
  ++runs.count;
  return *runs.series[run];
}

bool RankAlerts::take(std::uint64_t step, const SeenTensor& tensor) {
  if (!is_in_step_ || step != step_) {
    if (is_in_step_) told_ = end_step();
    if (step != step_ || number_of_step_ == 0) ++number_of_step_;
    step_ = step;
    is_in_step_ = true;
    if (ring_ != nullptr) say(ring_->begin_step(step));
  }
  if (series_count_ >= kMostSeries) {
    setup_.notices->warn_once(
        "series", "more than 1000000 different tensors: the rows of further ones are neither judged nor kept");
    return false;
  }
  std::size_t run = 0;
  Series& series = series_of(tensor, run);
  Row& row = series.row.row;
  series.row.differs_over = tensor.differs_over;
  row.identity.timestamp_us = tensor.timestamp_us;
  row.identity.set("iteration", step);
  row.data_size_bytes = tensor.data_size_bytes;
  row.data_type = tensor.data_type;
  row.shape = tensor.shape;
  row.statistics.values.assign(tensor.values.begin(), tensor.values.end());
  if (ring_ != nullptr) {
    const std::size_t before = bytes_.size();
    try {
      append_kept_row(row, series.graph, series.is_constant, bytes_);
      ++row_count_;
    } catch (const std::bad_alloc&) {
      bytes_.resize(before);
      throw;
    }
  }
  return judge(series, tensor.op, run);
}

bool RankAlerts::judge(Series& series, const void* op, std::size_t run) {
  bool is_named = false;
  for (std::size_t i = 0; i < setup_.rules.size(); ++i) {
    const Rule& rule = setup_.rules[i];
    const bool is_met = rule.is_met_by(series.row, series.pasts[i]);
    const bool is_new = is_met && !series.was_met[i];
    series.was_met[i] = is_met;
    if (!is_new) continue;
    const auto of_rule = [&](const Fired& fired) { return fired.alert.condition == rule.text(); };
    if (const auto same = std::ranges::find_if(fired_, of_rule); same != fired_.end()) {
      ++same->alert.tensor_count;
    } else {
      fired_.push_back(fired(series, run, rule, series.pasts[i]));
      fired_.back().op = op;
      is_named = true;
    }
  }
  return is_named;
}

bool RankAlerts::has_alert_of(std::uint64_t step, const void* op) const {
  return is_in_step_ && step == step_ && std::ranges::any_of(fired_, [&](const Fired& each) { return each.op == op; });
}

// Tensors that this session saved in the folder before are named by its alerts, and stay: another graph of the step had
// an alert, or the iterations began anew.
bool RankAlerts::begin_event() {
  if (is_event_begun_) return true;
  if (!is_event_of_step() && setup_.event_count >= setup_.options.most_events) {
    if (setup_.options.most_events != 0) {
      setup_.notices->warn_once("most events", [&] {
        return std::to_string(setup_.options.most_events) + " events are written, and further ones are not";
      });
    }
    return false;
  }
  event_folder_ = setup_.path + "/event_" + std::to_string(step_);
  const auto [saved, is_new] = saved_bytes_.try_emplace(step_, 0);
  if (is_new) {
    remove_folder(event_folder_ + "/rank_" + std::to_string(rank_));  // of an earlier run
  } else if (!is_event_of_step()) {
    remove_event_rows(event_folder_, rank_);
  }
  if (!is_event_of_step()) ++setup_.event_count;
  event_room_ = setup_.options.event_bytes - saved->second;
  steps_to_write_ = 0;
  number_of_event_ = number_of_step_;
  number_of_later_ = 0;
  return is_event_begun_ = true;
}

std::string RankAlerts::folder_for_tensor(std::uint32_t graph, std::uint64_t bytes) {
  if (!begin_event() || bytes > event_room_) return {};
  event_room_ -= bytes;
  saved_bytes_[step_] += bytes;
  return event_folder(event_folder_, rank_, setup_.about.net_name, graph, step_);
}

void RankAlerts::add_saved(const void* op, bool is_input, const std::string& path) {
  for (Fired& each : fired_) {
    if (each.op != op) continue;
    each.alert.saved.push_back(path.substr(event_folder_.size() + 1));
    each.is_input_told |= is_input;
  }
}

void RankAlerts::add_not_saved(const void* op, bool is_input, const std::string& words) {
  for (Fired& each : fired_) {
    if (each.op != op) continue;
    each.alert.not_saved.push_back(words);
    each.is_input_told |= is_input;
  }
}

RankAlerts::Fired RankAlerts::fired(const Series& series, std::size_t run, const Rule& rule,
                                    const RulePast& past) const {
  const Row& row = series.row.row;
  Fired made{.series = &series, .op = nullptr, .alert = {}, .category = {}, .run = run};
  Alert& alert = made.alert;
  alert.step = step_;
  alert.rank = rank_;
  alert.condition = rule.text();
  alert.op_type = row.identity.op_type;
  alert.op_name = row.identity.op_name;
  alert.io = row.identity.io;
  alert.slot = row.identity.slot;
  alert.data_type = row.data_type;
  alert.shape = row.shape;
  alert.words = rule.words_of_replicas(series.row);
  if (past.met) {
    alert.statistic = name_of(past.met->subject);
    alert.value = past.met->value;
    alert.limit = past.met->limit;
    if (const auto* category = std::get_if<Category>(&past.met->subject)) made.category = *category;
  }
  return made;
}

std::vector<Alert> RankAlerts::end_step() {
  if (!is_in_step_) return std::exchange(told_, {});
  is_in_step_ = false;
  keep_rows();
  if (ring_ != nullptr) say(ring_->end_step());
  return tell(true);
}

void RankAlerts::keep_rows() {
  if (ring_ != nullptr && row_count_ != 0) say(ring_->append(bytes_, row_count_));
  bytes_.clear();
  row_count_ = 0;
}

// Each kind of fault once.
void RankAlerts::say(const Status& kept) {
  if (kept) return;
  const Code code = kept.error().code;
  setup_.notices->warn_once(code == Code::kOverBudget   ? "ring is full"
                            : code == Code::kUnreadable ? "ring was changed"
                                                        : "ring",
                            kept.error().message);
}

std::vector<Alert> RankAlerts::close() {
  is_in_step_ = false;
  keep_rows();
  std::vector<Alert> alerts = tell(false);
  if (ring_ != nullptr) ring_->close();
  return alerts;
}

std::vector<Alert> RankAlerts::tell(bool is_whole) {
  const bool is_event = !fired_.empty();
  KeptSteps kept;
  const bool is_written = is_event_of_step() || number_of_later_ == number_of_step_;  // by another graph of this step
  const bool goes_on = is_written || steps_to_write_ != 0;
  if (ring_ != nullptr && (is_event || (is_whole && goes_on))) {
    const auto content = ring_->content();
    auto read = content ? read_ring(std::as_bytes(std::span(*content))) : content.error();
    read ? static_cast<void>(kept = *std::move(read)) : say(read.error());
  }
  const std::string journal = is_event || !kept.steps.empty()
                                  ? read_journal(journal_below(setup_.path, rank_, setup_.about.net_name))
                                  : std::string();
  const bool may_write = is_event && begin_event();
  is_event_begun_ = false;
  if (!kept.steps.empty() && may_write) {
    write(kept, journal);
    steps_to_write_ = setup_.options.steps_after;
  } else if (!kept.steps.empty() && goes_on) {
    if (!is_written) --steps_to_write_;
    if (!is_event_of_step()) number_of_later_ = number_of_step_;
    kept.steps.erase(kept.steps.begin(), kept.steps.end() - 1);
    write(kept, journal);
  }
  std::vector<Alert> alerts = std::exchange(told_, {});
  for (Fired& fired : fired_) {
    add_history(kept, fired);
    const CalledFrom code = code_line_of(journal, fired.alert.op_name);
    fired.alert.file = code.file;
    fired.alert.line = code.line;
    if (!fired.alert.saved.empty() && !fired.is_input_told) {
      fired.alert.not_saved.emplace_back("no input of its operator was handed over");
    }
    if (may_write && (!kept.steps.empty() || !fired.alert.saved.empty())) fired.alert.folder = event_folder_;
    if (may_write) setup_.lines->append(to_json(fired.alert) + '\n');
    alerts.push_back(std::move(fired.alert));
  }
  fired_.clear();
  return alerts;
}

void RankAlerts::add_history(const KeptSteps& kept, Fired& fired) const {
  Alert& alert = fired.alert;
  if (kept.steps.empty() && alert.value != Value()) alert.history = {{alert.step, alert.value}};
  if (!fired.category) return;
  for (const KeptStep& step : kept.steps) {
    std::size_t run = 0;
    for (const KeptRow& row : step.rows) {
      if (!is_of(row, fired.series->row, fired.series->graph) || run++ != fired.run) continue;
      const Value* const value = row.row.statistics.find(*fired.category);
      if (value != nullptr) alert.history.emplace_back(step.step, *value);
      break;
    }
  }
}

void RankAlerts::write(const KeptSteps& kept, const std::string& journal) {
  const auto written = write_event(kept, journal, event_folder_, event_room_);
  if (written && *written == kept.steps.size()) return;
  setup_.notices->warn([&] {
    const std::string why = written ? "its limit is " + std::to_string(setup_.options.event_bytes) + " bytes, and " +
                                          std::to_string(kept.steps.size() - *written) + " steps found no room"
                                    : written.error().message;
    return "the event of step " + std::to_string(step_) + " is not written as a whole: " + why + ". Its steps are in " +
           ring_->path() + "; tensorstat events reads them";
  });
}

}  // namespace tensorstat
