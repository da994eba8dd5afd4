#include <algorithm>
#include <string>

#include "stats/data/rows/dialect.hpp"

namespace tensorstat {
namespace {

// MindSpore's columns. Our dialect has the same ones.
constexpr CsvDialect::Headed kMindsporeColumns[] = {"op_type", "op_name", "task_id",   "stream_id", "timestamp",
                                                    "io",      "slot",    "data_size", "data_type", "shape"};

constexpr CsvDialect kOurDialect{.columns = kMindsporeColumns};

// The spelling of 2.3.0-rc.
constexpr CsvDialect::StatisticHeading kMindsporeStatistics[] = {{Category::kNanCount, "Nan Count", false}};

constexpr ShapeText kSquareShape[] = {{"[", ",", "]", "[]"}};

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
                                       .shapes = kSquareShape,
                                       .row_end = ",\n"};

// Rows of stat_calc_mode "device": MindSpore writes values as one-element tensors and not as doubles.
constexpr CsvDialect on_device(CsvDialect dialect) {
  dialect.digits = Digits::kSixOfReals;
  dialect.has_truths = true;
  return dialect;
}
constexpr CsvDialect kMindspore27OnDevice = on_device(kMindspore27Csv),
                     kMindsporeNextOnDevice = on_device(kMindsporeNextCsv);

// CANN's data types. Source: dump_data.h of its runtime. A type without a word is written as UNKNOW, CANN's own
// spelling.
constexpr CsvDialect::DtypeWord kCannDtypes[] = {{"float32", "FLOAT"},
                                                 {"float16", "FLOAT16"},
                                                 {"int8", "INT8"},
                                                 {"uint8", "UINT8"},
                                                 {"int16", "INT16"},
                                                 {"uint16", "UINT16"},
                                                 {"int32", "INT32"},
                                                 {"int64", "INT64"},
                                                 {"uint32", "UINT32"},
                                                 {"uint64", "UINT64"},
                                                 {"bool", "BOOL"},
                                                 {"float64", "DOUBLE"},
                                                 {"complex64", "COMPLEX64"},
                                                 {"complex128", "COMPLEX128"},
                                                 {"bfloat16", "BF16"},
                                                 {"int4", "INT4"},
                                                 {"uint1", "UINT1"},
                                                 {"float8_e5m2", "FLOAT8_E5M2"},
                                                 {"float8_e4m3fn", "FLOAT8_E4M3FN"}};

// A csv of CANN's dump, one file for each run of an operator. Source: adx_dump_record.cpp of CANN's runtime.
constexpr CsvDialect::Headed kCannColumns[] = {{"io", "Input/Output"}, {"slot", "Index"},          {"data_size"},
                                               {"data_type"},          {"format", "Format", "ND"}, {"shape"}};
constexpr CsvDialect::StatisticHeading kCannStatistics[] = {{Category::kNanCount, "Nan Count", true},
                                                            {Category::kL2norm, "l2norm", true}};
constexpr Category kCannDefault[] = {Category::kMax,
                                     Category::kMin,
                                     Category::kAvg,
                                     Category::kCount,
                                     Category::kNanCount,
                                     Category::kNegativeInfCount,
                                     Category::kPositiveInfCount};
constexpr Category kCannChosen[] = {Category::kCount,
                                    Category::kMax,
                                    Category::kMin,
                                    Category::kAvg,
                                    Category::kNanCount,
                                    Category::kNegativeInfCount,
                                    Category::kPositiveInfCount,
                                    Category::kL2norm};
constexpr CsvDialect::Order kCannOrders[] = {kCannDefault, kCannChosen};
constexpr ShapeText kCannShape[] = {{"", "x", "", "-"}};

constexpr CsvDialect kCannCsv{.columns = kCannColumns,
                              .statistics = kCannStatistics,
                              .orders = kCannOrders,
                              .quotes = Quotes::kNever,
                              .digits = Digits::kSixOfReals,
                              .missing = "NA",
                              .shapes = kCannShape,
                              .dtypes = kCannDtypes,
                              .input = "Input",
                              .output = "Output",
                              .may_lack_count = true,
                              .whose = Whose::kInFileName};

// msprobe's version of CANN's rows. Source: AclDumpDataProcessor.cpp. For rows with a digest, which msprobe computes
// itself, Shape is (2,3) without quotes, the data type has no DT_ and input is in lower case.
constexpr CsvDialect::Headed kMsprobeColumns[] = {{"op_type"},   {"op_name"},
                                                  {"task_id"},   {"stream_id"},
                                                  {"timestamp"}, {"io", "Input/Output"},
                                                  {"slot"},      {"data_size"},
                                                  {"data_type"}, {"format", "Format", "ND"},
                                                  {"shape"}};
constexpr CsvDialect::StatisticHeading kMsprobeStatistics[] = {{Category::kMd5, "MD5 Value", true}};
constexpr Category kMsprobeOrder[] = {Category::kMax,
                                      Category::kMin,
                                      Category::kAvg,
                                      Category::kL2norm,
                                      Category::kNanCount,
                                      Category::kNegativeInfCount,
                                      Category::kPositiveInfCount,
                                      Category::kMd5};
constexpr CsvDialect::Order kMsprobeOrders[] = {kMsprobeOrder};
constexpr ShapeText kMsprobeShapes[] = {{"", "x", "", "-"}, {}};

constexpr CsvDialect kMsprobeO2Csv{.columns = kMsprobeColumns,
                                   .statistics = kMsprobeStatistics,
                                   .orders = kMsprobeOrders,
                                   .quotes = Quotes::kNever,
                                   .digits = Digits::kSixOfReals,
                                   .missing = "NA",
                                   .shapes = kMsprobeShapes,
                                   .dtypes = kCannDtypes,
                                   .input = "Input",
                                   .output = "Output"};

#define TENSORSTAT_NAME(id, name, value) name,
constexpr std::string_view kNames[] = {TENSORSTAT_DIALECTS(TENSORSTAT_NAME)};
#undef TENSORSTAT_NAME

#define TENSORSTAT_VALUE(id, name, value) &value,
constexpr const CsvDialect* kValues[] = {TENSORSTAT_DIALECTS(TENSORSTAT_VALUE)};
#undef TENSORSTAT_VALUE

}  // namespace

std::string_view name(Dialect dialect) { return kNames[static_cast<int>(dialect)]; }
const CsvDialect& value_of(Dialect dialect) { return *kValues[static_cast<int>(dialect)]; }

const CsvDialect& value_on_device(Dialect dialect) {
  if (dialect == Dialect::kMindspore27) return kMindspore27OnDevice;
  return dialect == Dialect::kMindsporeNext ? kMindsporeNextOnDevice : value_of(dialect);
}

std::optional<Dialect> dialect_from(std::string_view name) {
  const auto entry = std::ranges::find(kNames, name);
  if (entry == std::end(kNames)) return std::nullopt;
  return static_cast<Dialect>(entry - std::begin(kNames));
}

std::vector<std::string_view> dialect_names() { return {std::begin(kNames), std::end(kNames)}; }

std::string_view heading(const CsvDialect& dialect, Category category) {
  for (const auto& own : dialect.statistics) {
    if (own.category == category && own.is_written) return own.heading;
  }
  return column(category);
}

Result<Categories> written_order(Dialect dialect, const Categories& categories) {
  const CsvDialect& value = value_of(dialect);
  if (value.orders.empty()) return categories;
  const auto asks = [&](Category category) { return std::ranges::count(categories, category) != 0; };
  const auto is_had = [&](Category category) { return std::ranges::count(value.orders.back(), category) != 0; };
  if (const auto lacking = std::ranges::find_if_not(categories, is_had); lacking != categories.end()) {
    std::string known;
    for (const Category each : value.orders.back()) known.append(known.empty() ? "" : ", ").append(name(each));
    return Error{Code::kInvalid, "the dialect " + std::string(name(dialect)) + " has no column for " +
                                     std::string(name(*lacking)) + "; it has " + known};
  }
  const auto is_written = [&](Category category) {
    return asks(category) || (value.may_lack_count && category == Category::kCount);
  };
  for (const CsvDialect::Order order : value.orders) {
    const bool is_last = order.data() == value.orders.back().data();
    const bool has_all = std::ranges::all_of(
        value.orders.back(), [&](Category each) { return is_written(each) == (std::ranges::count(order, each) != 0); });
    if (!is_last && !has_all) continue;
    Categories written;
    std::ranges::copy_if(order, std::back_inserter(written), is_written);
    return written;
  }
  return categories;  // not reached: the last order accepts all
}

}  // namespace tensorstat
