#include "stats/answer/msprobe/statistic_cells.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat::msprobe {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 10^n in binary64; n is 0 to 308.
double power_of_ten(int n) {
  static const auto powers = [] {
    std::array<double, 309> all{};
    for (int i = 0; i < 309; ++i) {
      const std::string text = "1e" + std::to_string(i);
      std::from_chars(text.data(), text.data() + text.size(), all[static_cast<std::size_t>(i)]);
    }
    return all;
  }();
  return powers[static_cast<std::size_t>(n)];
}

// A text as pandas' to_numeric reads it. pandas takes at most 17 digits one by one in binary64, then scales by a power
// of ten. So a number may differ from the nearest one in its last bit, and so may differences of such numbers.
struct Read {
  double number = NAN;
  std::optional<std::int64_t> whole = {};  // if the text consists of digits
};
std::optional<Read> read_number(std::string_view text) {
  constexpr int kMostDigits = 17, kGreatestPower = 308, kFarExponent = 1 << 24;
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  const std::string_view all = text;
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (const std::string word = lower_case(text); word == "inf" || word == "infinity") {
    return Read{is_negative ? -HUGE_VAL : HUGE_VAL, {}};
  }
  double number = 0;
  int exponent = 0, digits = 0;
  bool has_digits = false, is_whole = true;
  const auto take_digits = [&](int power_of_taken, int power_of_left) {
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
      has_digits = true;
      if (digits < kMostDigits) {
        number = number * 10 + (text.front() - '0');
        ++digits;
        exponent += power_of_taken;
      } else {
        exponent += power_of_left;
      }
    }
  };
  take_digits(0, 1);
  if (text.starts_with('.')) {
    is_whole = false;
    text.remove_prefix(1);
    take_digits(-1, 0);
  }
  if (!has_digits) return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    is_whole = false;
    text.remove_prefix(1);
    if (text.starts_with("+-")) return std::nullopt;
    if (text.starts_with('+')) text.remove_prefix(1);
    int more = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), more);
    if (fault != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    exponent += std::clamp(more, -kFarExponent, kFarExponent);
  }
  if (!text.empty()) return std::nullopt;
  if (is_negative) number = -number;
  if (exponent > kGreatestPower) return std::nullopt;
  if (exponent > 0) {
    number *= power_of_ten(exponent);
  } else if (exponent < -kGreatestPower) {
    if (exponent < -2 * kGreatestPower) return Read{0, {}};
    number /= power_of_ten(-kGreatestPower - exponent);
    number /= power_of_ten(kGreatestPower);
  } else {
    number /= power_of_ten(-exponent);
  }
  Read read{number, {}};
  if (is_whole) {
    std::int64_t whole = 0;
    const char* const begin = all.data() + all.starts_with('+');
    if (std::from_chars(begin, all.data() + all.size(), whole).ec == std::errc()) read.whole = whole;
  }
  return read;
}

enum class Kind : std::uint8_t { kNumber, kNan, kInf, kNegativeInf, kDevice, kNotAvailable, kOther };

struct Cell {
  std::string text;
  Kind kind;
  Read read;
};

Cell cell_of(const PythonValue& value) {
  Cell cell{text_of(value), Kind::kOther, {}};
  const std::string word = lower_case(cell.text);
  const auto number = read_number(cell.text);
  if (number) cell.read = *number;
  const auto holds = [&](std::string_view part) { return word.find(part) != word.npos; };
  if (word == "nan") {
    cell.kind = Kind::kNan;
  } else if (word == "inf") {
    cell.kind = Kind::kInf;
  } else if (word == "-inf") {
    cell.kind = Kind::kNegativeInf;
  } else if (number && !std::holds_alternative<bool>(value)) {
    cell.kind = Kind::kNumber;
  } else if (holds("npu") || holds("cpu") || holds("cuda")) {
    cell.kind = Kind::kDevice;
  } else if (cell.text == kNotAvailable) {
    cell.kind = Kind::kNotAvailable;
  }
  return cell;
}

struct Column {
  std::vector<Cell> cells;
  bool is_whole = true;  // all cells are ints; each is rounded to binary64 once
};

Column column_of(const std::vector<ComparedRow>& rows, Statistics ComparedRow::*side, std::size_t statistic) {
  Column column;
  column.cells.reserve(rows.size());
  for (const ComparedRow& row : rows) {
    column.cells.push_back(cell_of((row.*side)[statistic]));
    column.is_whole &= column.cells.back().read.whole.has_value();
  }
  if (!column.is_whole) return column;
  for (Cell& cell : column.cells) cell.read.number = static_cast<double>(*cell.read.whole);
  return column;
}

// The difference and the relative difference of two cells with different texts. `are_whole`: both columns hold only
// ints, so the difference is an int, too.
std::pair<std::string, std::string> apart(const Cell& npu, const Cell& bench, bool are_whole) {
  const auto both = [](const char* text) { return std::pair<std::string, std::string>(text, text); };
  const auto either_is = [&](Kind kind) { return npu.kind == kind || bench.kind == kind; };
  if (either_is(Kind::kNotAvailable)) return both(kNotAvailable);
  if (npu.kind == Kind::kDevice && bench.kind == Kind::kDevice) return both(kNotAvailable);
  if (either_is(Kind::kDevice) || either_is(Kind::kOther)) return both("Diff");
  if (either_is(Kind::kNan)) return npu.kind == bench.kind ? both(kNotAvailable) : both("Nan");
  if (npu.kind == Kind::kInf) return both(bench.kind == Kind::kInf ? kNotAvailable : "inf");
  if (npu.kind == Kind::kNegativeInf) return both(bench.kind == Kind::kNegativeInf ? kNotAvailable : "-inf");
  if (bench.kind == Kind::kInf) return both("-inf");
  if (bench.kind == Kind::kNegativeInf) return both("inf");
  double difference = npu.read.number - bench.read.number;
  const double base = bench.read.number;
  std::string text = text_of(difference);
  if (are_whole) {
    const auto whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(*npu.read.whole) -
                                                 static_cast<std::uint64_t>(*bench.read.whole));
    text = std::to_string(whole);
    difference = static_cast<double>(whole);
  }
  return {text, base == 0 ? "inf" : text_of(std::fabs(difference / base * 100)) + "%"};
}

}  // namespace

void fill_statistic_measures(std::vector<ComparedRow>& rows) {
  for (ComparedRow& row : rows) row.measures.resize(2 * kStatisticCount);
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    const Column npu = column_of(rows, &ComparedRow::npu_statistics, i);
    const Column bench = column_of(rows, &ComparedRow::bench_statistics, i);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      auto [difference, relative] = npu.cells[row].text == bench.cells[row].text
                                        ? std::pair<std::string, std::string>("0", "0")
                                        : apart(npu.cells[row], bench.cells[row], npu.is_whole && bench.is_whole);
      rows[row].measures[i] = std::move(difference);
      rows[row].measures[kStatisticCount + i] = std::move(relative);
    }
  }
}

}  // namespace tensorstat::msprobe
