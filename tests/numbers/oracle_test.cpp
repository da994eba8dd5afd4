// The oracle of the other tests is right: Python's fractions, which share nothing with it, agree.
#include "tests/support/oracle.hpp"

#include <gtest/gtest.h>
#include <stdio.h>

#include <bit>
#include <charconv>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/built.hpp"

namespace tensorstat {
namespace oracle_test {

std::vector<std::string> fixture() {
  const auto close = [](FILE* pipe) { EXPECT_EQ(0, pclose(pipe)); };
  const std::unique_ptr<FILE, decltype(close)> pipe(
      popen(("python3 '" + built::source_dir() + "/tests/support/oracle_fixture.py'").c_str(), "r"), close);
  std::string text;
  char piece[4096];
  for (std::size_t got; (got = fread(piece, 1, sizeof piece, pipe.get())) != 0;) text.append(piece, got);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; hex != "-" && i < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(&hex[i], &hex[i] + 2, byte, 16);
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

Value double_of(const std::string& cell) {
  if (cell == "-") return {};
  if (cell == "nan") return std::numeric_limits<double>::quiet_NaN();
  std::uint64_t bits = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), bits, 16);
  return std::bit_cast<double>(bits);
}

// Python's column holds every number as a binary64.
Value as_double(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* natural = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*natural);
  return value;
}

TEST(Oracle, AgreesWithFractions) {
  const auto lines = fixture();
  ASSERT_EQ(13u * 6 * 6, lines.size());
  for (const std::string& line : lines) {
    std::istringstream cells(line);
    std::string dtype_name, hex, cell;
    cells >> dtype_name >> hex;
    const Dtype dtype = *dtype_from(dtype_name);
    const oracle::Facts facts = oracle::facts(dtype, bytes_of(hex));
    const auto wide = oracle::answers(facts), narrow = oracle::answers(facts, oracle::kBinary32);
    const auto hold = [&](const auto& values, Category category) {
      cells >> cell;
      const Value value = as_double(values[static_cast<std::size_t>(category)]);
      EXPECT_TRUE(oracle::same(double_of(cell), value))
          << line << ": " << name(category) << " is " << oracle::shown(value);
    };
    for (const Category category : {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm}) {
      hold(wide, category);
    }
    hold(narrow, Category::kAvg);
    hold(narrow, Category::kL2norm);
    std::uint64_t nans = 0, zeros = 0, negatives = 0;
    cells >> nans >> zeros >> negatives;
    EXPECT_EQ(nans, facts.nans) << line;
    EXPECT_EQ(zeros, facts.zeros) << line;
    EXPECT_EQ(negatives, facts.negatives) << line;
  }
}

// Facts that a person can check.
TEST(Oracle, AgreesWithArithmeticByHand) {
  const double binary64_half_ulp = 0x1p-53;
  EXPECT_EQ(1.0, oracle::nearest(1 + mpq_class(binary64_half_ulp), oracle::kBinary64));  // a tie, to even
  EXPECT_EQ(1 + 0x1p-52, oracle::nearest(1 + mpq_class(0x1.8p-53), oracle::kBinary64));
  EXPECT_EQ(0.0, oracle::nearest(oracle::scaled(1, -1075), oracle::kBinary64));
  EXPECT_EQ(0x1p-1074, oracle::nearest(oracle::scaled(3, -1076), oracle::kBinary64));
  EXPECT_EQ(-0x1.5555555555555p-2, oracle::nearest(mpq_class(-1, 3), oracle::kBinary64));
  EXPECT_EQ(0x1.555556p-2, oracle::nearest(mpq_class(1, 3), oracle::kBinary32));
  EXPECT_EQ(65504.0, oracle::nearest(mpq_class(65519), oracle::kBinary16));
  EXPECT_EQ(std::numeric_limits<double>::infinity(), oracle::nearest(mpq_class(65520), oracle::kBinary16));
  EXPECT_EQ(3.0, oracle::nearest_root(mpq_class(9), oracle::kBinary64));
  EXPECT_EQ(0x1.6a09e667f3bcdp+0, oracle::nearest_root(mpq_class(2), oracle::kBinary64));
  EXPECT_EQ(0x1p-1074, oracle::nearest_root(oracle::scaled(1, -2148), oracle::kBinary64));
  EXPECT_EQ(0.0, oracle::nearest_root(oracle::scaled(1, -2150), oracle::kBinary64));
}

}  // namespace oracle_test
}  // namespace tensorstat
