#include "stats/answer/store/trend_db.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "stats/answer/store/database.hpp"
#include "stats/core/base/utf8.hpp"
#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/row_kind.hpp"
#include "stats/data/rules/comparison.hpp"

namespace tensorstat {
namespace {

constexpr double kGreatest = 1e9;  // msprobe clips there

// The tables of msprobe's TrendSql (core/common/db_manager.py).
constexpr const char* kTrendSchema = R"(
CREATE TABLE monitoring_targets (target_id INTEGER PRIMARY KEY AUTOINCREMENT, target_name TEXT NOT NULL,
  vpp_stage INTEGER NOT NULL, micro_step INTEGER NOT NULL DEFAULT 0, UNIQUE(target_name, vpp_stage, micro_step));
CREATE TABLE monitoring_metrics (metric_id INTEGER PRIMARY KEY AUTOINCREMENT, metric_name TEXT UNIQUE NOT NULL);
CREATE TABLE trend_data (rank INTEGER NOT NULL, step INTEGER NOT NULL, target_id INTEGER NOT NULL,
  metric_id INTEGER NOT NULL, norm REAL DEFAULT NULL, max REAL DEFAULT NULL, min REAL DEFAULT NULL,
  mean REAL DEFAULT NULL, nans REAL DEFAULT NULL, PRIMARY KEY (rank, step, target_id, metric_id),
  FOREIGN KEY (target_id) REFERENCES monitoring_targets(target_id),
  FOREIGN KEY (metric_id) REFERENCES monitoring_metrics(metric_id)) WITHOUT ROWID;
)";
constexpr Category kTrendCategories[] = {Category::kL2norm, Category::kMax, Category::kMin, Category::kAvg,
                                         Category::kNanCount};
constexpr const char* kTrendColumns = "norm,max,min,mean,nans";

struct TrendTarget {
  std::string name;
  std::uint64_t micro_step = 0;
  std::string metric;
};

const char* metric_of(RowKind kind) {
  switch (kind) {
    case RowKind::kParameter:
      return "parameters";
    case RowKind::kGradient:
      return "parameters_grad";
    case RowKind::kOptimizerState:
      return "optimizer";
    case RowKind::kUpdate:
      return "updates";
    case RowKind::kBuffer:
      return "buffers";
    case RowKind::kLoss:
      return "loss";
    case RowKind::kOfCall:
      break;
  }
  return "forward";
}

// "Module.a.Linear.forward.0" is the target Module.a.Linear of the metric forward, and its micro step is 0.
TrendTarget target_of(const Row& row, std::string_view op_name) {
  TrendTarget target{.name = std::string(op_name), .micro_step = 0, .metric = "forward"};
  if (const RowKind kind = row_kind(row.identity.op_type); kind != RowKind::kOfCall) {
    target.metric = metric_of(kind);
  } else {
    const DirectedName call = directed_name_of(op_name);
    if (call.direction == Direction::kBackward) target.metric = "backward";
    if (call.direction == Direction::kParameterGradients) target.metric = "parameters_grad";
    target.name = call.stem;
    if (!call.number.empty() && call.number.size() < 10) target.micro_step = std::stoul(std::string(call.number));
  }
  target.name += "." + row.identity.io + "." + std::to_string(row.identity.slot);
  target.name = as_utf8(target.name);  // Python's sqlite3 refuses other texts
  return target;
}

class TrendDatabase {
 public:
  explicit TrendDatabase(Database database) : database_(std::move(database)) {}

  Status begin() {
    if (Status made = database_.run(kTrendSchema); !made) return made;
    if (Status begun = database_.begin(); !begun) return begun;
    for (const auto& [sql, statement] :
         {std::pair("INSERT INTO trend_data VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", &insert_row_),
          std::pair("INSERT INTO monitoring_targets(target_name, vpp_stage, micro_step) VALUES(?,0,?)",
                    &insert_target_),
          std::pair("INSERT INTO monitoring_metrics(metric_name) VALUES(?)", &insert_metric_)}) {
      auto prepared = database_.prepare(sql);
      if (!prepared) return prepared.error();
      *statement = *std::move(prepared);
    }
    return {};
  }

  Status add(const Row& row, const Record::Place& place) {
    std::optional<double> values[std::size(kTrendCategories)];
    bool has_any = false;
    for (std::size_t i = 0; i < std::size(values); ++i) {
      values[i] = as_double(row.statistics.find(kTrendCategories[i]));
      has_any |= values[i].has_value();
    }
    if (!has_any) return ++written.without, Status();
    const TrendTarget target = target_of(row, place.name);
    const auto metric = metric_id(target.metric);
    if (!metric) return metric.error();
    // Calls of one name in one iteration of a rank are told by their micro steps.
    Calls& calls = calls_[{place.rank, target.metric, target.name, target.micro_step}];
    if (calls.iteration != place.iteration) calls = {place.iteration, 0};
    insert_row_.bind(1, std::uint64_t{place.rank}).bind(2, place.iteration).bind(4, *metric);
    for (std::size_t i = 0; i < std::size(values); ++i) bind(static_cast<int>(5 + i), values[i]);
    // Iterations come again with each graph, and a call's own number may be the next one's: the next free one is taken.
    do {
      const auto id = target_id(target.name, target.micro_step + calls.count++);
      if (!id) return id.error();
      insert_row_.bind(3, *id);
      if (Status done = database_.step_once(insert_row_); !done) return done;
    } while (database_.changes() == 0);
    ++written.rows;
    most_rank_ = std::max<std::uint64_t>(most_rank_, place.rank);
    least_step_ = std::min(least_step_, place.iteration);
    most_step_ = std::max(most_step_, place.iteration);
    return {};
  }

  // The table that tells the reader which metrics there are, and how far ranks and steps go.
  Status finish() {
    std::string columns, values;
    for (const auto& [metric, id] : metrics_) {
      columns += ", " + metric + " TEXT DEFAULT NULL";
      values += ", '" + std::string(kTrendColumns) + "'";
    }
    for (const std::string& sql :
         {"CREATE TABLE global_stats (max_rank INTEGER DEFAULT 0, min_step INTEGER DEFAULT 0, max_step INTEGER DEFAULT "
          "0" +
              columns + ")",
          "INSERT INTO global_stats VALUES(" + std::to_string(most_rank_) + ", " + std::to_string(least_step_) + ", " +
              std::to_string(most_step_) + values + ")"}) {
      if (Status done = database_.run(sql); !done) return done;
    }
    return database_.commit();
  }

  TrendWritten written;

 private:
  struct Calls {
    std::uint64_t iteration = UINT64_MAX, count = 0;
  };

  void bind(int parameter, std::optional<double> value) {
    if (!value || std::isnan(*value)) {
      written.nan += value.has_value();
      insert_row_.bind_null(parameter);
    } else if (std::isinf(*value)) {
      ++written.inf;
      insert_row_.bind(parameter, *value > 0 ? kGreatest + 1 : -kGreatest - 1);
    } else {
      written.clipped += std::fabs(*value) > kGreatest;
      insert_row_.bind(parameter, std::clamp(*value, -kGreatest, kGreatest));
    }
  }

  Result<std::uint64_t> metric_id(const std::string& name) {
    const auto [entry, is_new] = metrics_.try_emplace(name, 0);
    if (is_new) {
      insert_metric_.bind(1, name);
      if (Status done = database_.step_once(insert_metric_); !done) return done.error();
      entry->second = database_.last_row();
    }
    return entry->second;
  }

  Result<std::uint64_t> target_id(const std::string& name, std::uint64_t micro_step) {
    const auto [entry, is_new] = targets_.try_emplace({name, micro_step}, 0);
    if (is_new) {
      insert_target_.bind(1, name).bind(2, micro_step);
      if (Status done = database_.step_once(insert_target_); !done) return done.error();
      entry->second = database_.last_row();
    }
    return entry->second;
  }

  Database database_;
  Statement insert_row_, insert_target_, insert_metric_;
  std::map<std::string, std::uint64_t> metrics_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> targets_;
  std::map<std::tuple<std::uint32_t, std::string, std::string, std::uint64_t>, Calls> calls_;
  std::uint64_t most_rank_ = 0, least_step_ = UINT64_MAX, most_step_ = 0;
};

}  // namespace

Result<TrendWritten> write_trend_db(RunRows& rows, const std::string& path, const std::string& file) {
  auto database = Database::open(file, Access::kWrite);
  if (!database) return database.error();
  TrendDatabase trend(*std::move(database));
  Status status = trend.begin();
  if (!status) return status.error();
  const Status read = rows.each([&](const Row& row, const Record::Place& place) {
    if (status) status = trend.add(row, place);
  });
  if (!read) return read.error();
  if (!status) return status.error();
  if (trend.written.rows == 0) return nothing_to_read(path);
  if (Status finished = trend.finish(); !finished) return finished.error();
  return trend.written;
}

}  // namespace tensorstat
