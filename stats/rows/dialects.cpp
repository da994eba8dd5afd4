#include "stats/rows/dialect.hpp"

#include <algorithm>

namespace tensorstat {
namespace {

// MindSpore's columns, which ours are too.
constexpr CsvDialect::Headed kMindsporeColumns[] = {"op_type", "op_name", "task_id",   "stream_id", "timestamp",
                                                    "io",      "slot",    "data_size", "data_type", "shape"};

constexpr CsvDialect kOurDialect{.columns = kMindsporeColumns};

// 2.3.0-rc spelled one so for a while.
constexpr CsvDialect::StatisticHeading kMindsporeStatistics[] = {{Category::kNanCount, "Nan Count", false}};

constexpr CsvDialect kMindspore27Csv{.columns = kMindsporeColumns,
                                     .statistics = kMindsporeStatistics,
                                     .quotes = Quotes::kShapeOnly,
                                     .digits = Digits::kSix,
                                     .missing = "null",
                                     .op_name_is_escaped = true,
                                     .row_end = ",\n"};

constexpr CsvDialect kMindsporeNextCsv{.columns = kMindsporeColumns,
                                       .statistics = kMindsporeStatistics,
                                       .quotes = Quotes::kShapeOnly,
                                       .digits = Digits::kSix,
                                       .missing = "null",
                                       .shape_marks = "[,]",
                                       .row_end = ",\n"};

#define TENSORSTAT_NAME(id, name, value) name,
constexpr std::string_view kNames[] = {TENSORSTAT_DIALECTS(TENSORSTAT_NAME)};
#undef TENSORSTAT_NAME

#define TENSORSTAT_VALUE(id, name, value) &value,
constexpr const CsvDialect* kValues[] = {TENSORSTAT_DIALECTS(TENSORSTAT_VALUE)};
#undef TENSORSTAT_VALUE

}  // namespace

std::string_view name(Dialect dialect) { return kNames[static_cast<int>(dialect)]; }
const CsvDialect& value_of(Dialect dialect) { return *kValues[static_cast<int>(dialect)]; }

std::optional<Dialect> dialect_from(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Dialect>(found - std::begin(kNames));
}

std::vector<std::string_view> dialect_names() { return {std::begin(kNames), std::end(kNames)}; }

std::string_view heading(const CsvDialect& dialect, Category category) {
  for (const auto& own : dialect.statistics) {
    if (own.category == category && own.is_written) return own.heading;
  }
  return column(category);
}

}  // namespace tensorstat
