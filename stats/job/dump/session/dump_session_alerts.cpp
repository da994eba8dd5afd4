// Alerts of a dump session: their rules are read, and their alerts delivered.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "stats/core/base/float_environment.hpp"
#include "stats/data/rows/dialect.hpp"
#include "stats/job/dump/session/dump_session.hpp"

namespace tensorstat {
namespace {

// A rule may need a statistic that the config does not write.
Categories behind(const Categories& columns, const std::vector<Rule>& rules) {
  Categories more;
  for (const Rule& rule : rules) {
    for (const Category category : rule.needed()) {
      const auto is_in = [&](const Categories& list) { return std::ranges::find(list, category) != list.end(); };
      if (!is_in(columns) && !is_in(more)) more.push_back(category);
    }
  }
  return more;
}

}  // namespace

AlertOptions alerts_of_environment() {
  AlertOptions alerts;
  if (const char* rules = std::getenv("TENSORSTAT_ALERTS")) alerts.rules = rules;
  return alerts;
}

Status DumpSession::State::set_alerts(AlertOptions wanted) {
  if (!wanted.wants_anything()) return {};
  if (closed || work.tally.operators != 0) {
    return Error{Code::kInvalid, "alerts are set before the first tensor is handed over"};
  }
  if (!config.saves_statistics()) {
    return Error{Code::kInvalid,
                 "alerts judge statistics, and the config saves tensors alone: its saved_data is \"tensor\""};
  }
  if (wanted.keep_steps != 0 && config.saves_tensors()) {
    return Error{Code::kInvalid,
                 "keep_steps keeps rows, and the config saves tensors, too: its saved_data has to be \"statistic\""};
  }
  constexpr std::uint32_t kMostSteps = 100'000;
  if (wanted.keep_steps > kMostSteps) return Error{Code::kInvalid, "keep_steps is at most 100000"};
  std::vector<Rule> rules;
  if (!wanted.rules.empty()) {
    auto parsed = Rule::parse_list(wanted.rules, Earlier::kKeptWithReplicas);
    if (!parsed) return Error{parsed.error().code, "alerts: " + parsed.error().message};
    rules = *std::move(parsed);
  }
  Categories measured = columns;
  const Categories more = behind(columns, rules);
  measured.insert(measured.end(), more.begin(), more.end());
  const bool is_of_csv = static_cast<bool>(written_order(options.dialect, measured));
  // Events are written in the dump's own dialect, if that has a column for each statistic.
  const bool is_own = config.form->rows_file() == "statistic.csv" && is_of_csv;
  KeptAbout about{.dialect = is_own ? options.dialect : Dialect::kOurs,
                  .net_name = config.net_name.empty() ? "model" : config.net_name,
                  .categories = std::move(measured)};
  AlertSetup setup{.options = std::move(wanted),
                   .rules = std::move(rules),
                   .about = std::move(about),
                   .path = config.path,
                   .rank_folder = [this](std::uint32_t rank) { return config.form->rank_folder(config, rank); },
                   .notices = notices,
                   .lines = std::make_shared<AppendFile>(
                       AppendOptions{.path = config.path + "/alerts.ndjson", .sync = options.sync}, notices)};
  alerts.on_alert = setup.options.on_alert;
  alerts.groups.clear();
  for (const Rule& rule : setup.rules) {
    for (const std::string& group : rule.groups()) {
      if (std::ranges::find(alerts.groups, group) == alerts.groups.end()) alerts.groups.push_back(group);
    }
  }
  queue.between_work([&] { alerts.output = &work.set_alerts(std::move(setup), more); });
  return {};
}

void DumpSession::State::deliver_alerts() noexcept {
  if (alerts.output == nullptr) return;
  for (const Alert& alert : alerts.output->take_alerts()) {
    if (!alerts.on_alert) {
      notices->warn([&] { return to_sentence(alert); });
      continue;
    }
    try {
      alerts.on_alert(alert);
    } catch (...) {  // ignore errors of the caller's function
    }
  }
}

std::vector<std::string> DumpSession::alert_groups() const {
  return state_ == nullptr ? std::vector<std::string>() : state_->alerts.groups;
}

Status DumpSession::set_alerts(AlertOptions options) try {
  const FloatEnvironment ieee;
  if (state_ == nullptr || state_->is_in_fork()) return {};
  const Notices::Hold hold(*state_->notices);
  return state_->set_alerts(std::move(options));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
