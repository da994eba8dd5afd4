// Rows written through the public header read back the same in every dialect, from a text and from a file of any
// length, with every statistic of the catalog and every further column.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <random>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/dialect.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace rows_read_back_test {

// A value of any category as a file can hold it.
Value value_of(Category category, bool is_integer, std::mt19937& random) {
  switch (kind(category)) {
    case ValueKind::kCount:
    case ValueKind::kIndex:
      return std::uint64_t{random()} << 20;
    case ValueKind::kDigest: {
      std::string digits(category == Category::kHash ? 40 : 32, '0');
      for (char& digit : digits) digit = "0123456789abcdef"[random() % 16];
      return *Digest::from(digits);
    }
    case ValueKind::kSize:
      if (is_integer) return std::uint64_t{random()};
      break;
    case ValueKind::kElement:
      if (is_integer) return static_cast<std::int64_t>(random()) - (std::int64_t{1} << 40);
      break;
    case ValueKind::kReal:
      break;
    case ValueKind::kList: {
      ExponentCounts counts{random(), random() % 2, random(), 0, {}};
      for (int exponent = -149; exponent < 128; exponent += 1 + static_cast<int>(random() % 40)) {
        counts.binades.push_back({exponent, random()});
      }
      return Exponents(std::move(counts));
    }
  }
  return random() % 8 == 0 ? Value{} : Value{std::ldexp(static_cast<double>(random()), -20)};
}

Row row_of(const Categories& categories, std::mt19937& random) {
  const bool is_integer = random() % 2 == 0;
  Row row;
  row.identity = {"Add", "Default/a,b/Add-op" + std::to_string(random() % 100), 7, 8, random(), "input", random() % 4};
  row.data_size_bytes = random();
  row.data_type = is_integer ? "int64" : "float32";
  row.shape = Shape(random() % 4, random());
  row.statistics.categories = categories;
  for (const Category category : categories) row.statistics.values.push_back(value_of(category, is_integer, random));
  return row;
}

// The catalog's categories that have a column in this dialect.
Categories categories_of(Dialect dialect) {
  Categories had;
  for (const Category category : every_category()) {
    const auto writer = RowWriter::open({dialect, {category}, {}}, [](std::string_view) { return Status(); });
    if (writer) had.push_back(category);
  }
  return had;
}

// A file of CANN's has rows of one run only, and its text does not name the operator.
bool is_of_one_run(Dialect dialect) { return file_name(dialect, {}) != "statistic.csv"; }

std::string written(const RowFormat& format, const std::vector<Row>& rows) {
  std::string text;
  auto writer = RowWriter::open(format, [&](std::string_view lines) { return text += lines, Status(); });
  EXPECT_TRUE(writer) << writer.error().message;
  for (const Row& row : rows) EXPECT_TRUE(writer && writer->write(row));
  return text;
}

struct Got {
  RowsRead read;
  std::vector<Row> rows;
};

Got got(const Result<RowsRead>& read, std::vector<Row> rows) {
  EXPECT_TRUE(read) << read.error().message;
  return {read ? *read : RowsRead{}, std::move(rows)};
}

Got read_text(const std::string& text) {
  std::vector<Row> rows;
  const auto read = read_rows(text, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  return got(read, std::move(rows));
}

TEST(RowsReadBack, InEveryDialectWithEveryStatistic) {
  const unsigned seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const std::string_view each : dialect_names()) {
    const Dialect dialect = *dialect_from(each);
    const RowFormat format{dialect, categories_of(dialect), {}};
    EXPECT_EQ(format.categories.size(), each == "cann" || each == "msprobe-o2" ? 8u : every_category().size());
    std::vector<Row> rows;
    for (int i = 0; i < 200; ++i) {
      rows.push_back(row_of(format.categories, random));
      if (!is_of_one_run(dialect)) continue;
      rows.back().identity = {"Tensor", "", 0, 0, 0, rows.back().identity.io, rows.back().identity.slot};
    }
    const std::string text = written(format, rows);
    const Got back = read_text(text);
    EXPECT_EQ(back.read.dialect, format.dialect) << each;
    EXPECT_EQ(back.read.categories, *written_order(dialect, format.categories));
    EXPECT_EQ(back.read.row_count, rows.size());
    ASSERT_EQ(back.rows.size(), rows.size());
    EXPECT_EQ(written({dialect, back.read.categories, {}}, back.rows), text) << each;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(back.rows[i].shape, rows[i].shape);
      EXPECT_EQ(back.rows[i].identity.timestamp_us, rows[i].identity.timestamp_us);
      if (format.dialect != Dialect::kOurs) continue;  // other dialects write only six digits
      EXPECT_EQ(back.rows[i].statistics.values, rows[i].statistics.values);
    }
  }
}

TEST(RowsReadBack, FurtherColumnsFollowTheStatistics) {
  std::mt19937 random(1);
  const RowFormat format{Dialect::kOurs, {Category::kMax}, {"rank", "path", "iteration"}};
  Row row = row_of(format.categories, random);
  row.identity.set("path", std::string("=a,\"b\"\n/x.npy"));
  row.identity.set("rank", std::uint64_t{3});
  row.identity.set("rank", std::uint64_t{4});
  const std::string text = written(format, {row});
  EXPECT_NE(text.find(",Shape,Max Value,Rank,Path,Iteration\n"), text.npos) << text;
  const Got back = read_text(text);
  EXPECT_EQ(back.read.columns, format.columns);
  ASSERT_EQ(back.rows.size(), 1u);
  const Identity& identity = back.rows[0].identity;
  EXPECT_EQ(*identity.find("rank"), Cell{std::uint64_t{4}});
  EXPECT_EQ(*identity.find("path"), Cell{std::string("=a,\"b\"\n/x.npy")});
  EXPECT_EQ(identity.find("iteration"), nullptr) << "the row did not say";
}

TEST(RowsReadBack, EveryFurtherColumn) {
  RowFormat format;
  for (const auto name : further_columns()) format.columns.emplace_back(name);
  EXPECT_GE(format.columns.size(), 5u);
  EXPECT_EQ(read_text(written(format, {Row{}})).read.columns, format.columns);
}

TEST(RowsReadBack, WhatAFormatCannotHaveIsRefused) {
  const auto fault = [](RowFormat format) {
    const auto writer = RowWriter::open(std::move(format), [](std::string_view) { return Status(); });
    return writer ? "" : writer.error().message;
  };
  EXPECT_NE(fault({Dialect::kOurs, {}, {"layer"}}).find("known are path, rank"), std::string::npos);
  EXPECT_NE(fault({Dialect::kOurs, {}, {"rank", "rank"}}).find("twice"), std::string::npos);
  EXPECT_NE(fault({Dialect::kMindspore27, {}, {"rank"}}).find("no place"), std::string::npos);

  auto writer = RowWriter::open({}, [](std::string_view) { return Status(); });
  Row row;
  row.statistics = {{Category::kMax}, {Value{1.0}}};
  ASSERT_TRUE(writer);
  EXPECT_FALSE(writer->write(row)) << "a statistic that the heading does not have";
}

TEST(RowsReadBack, TheErrorOfASinkAndOfAReaderIsReturned) {
  const Error full{Code::kUnwritable, "full"};
  int lines = 0;
  auto writer = RowWriter::open({}, [&](std::string_view) { return lines++ == 0 ? Status() : Status(full); });
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->write({}).error().message, "full");

  int rows = 0;
  const auto read =
      read_rows(written({}, {Row{}, Row{}, Row{}}), [&](Row&&) { return ++rows == 2 ? Status(full) : Status(); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "full");
  EXPECT_EQ(rows, 2);
}

// A piece of a file may end anywhere in a line, also in a quoted field.
TEST(RowsReadBack, FromAFileInPieces) {
  std::mt19937 random(2);
  const ScratchFolder folder;
  for (const std::string_view each : dialect_names()) {
    const Dialect dialect = *dialect_from(each);
    if (is_of_one_run(dialect)) continue;  // its rows have no text field that could be long
    const RowFormat format{dialect, {Category::kMax, Category::kMd5}, {}};
    std::vector<Row> rows;
    for (int i = 0; i < 20'000; ++i) {
      rows.push_back(row_of(format.categories, random));
      if (i % 7000 == 0) rows.back().identity.op_name.append(1'500'000, 'x').append("\"\n,");
    }
    const std::string text = written(format, rows);
    ASSERT_GT(text.size(), std::size_t{6} << 20);
    std::ofstream(folder / "rows.csv") << text;
    std::vector<Row> back;
    const auto read =
        read_rows_of_file(folder / "rows.csv", [&](Row&& row) { return back.push_back(std::move(row)), Status(); });
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(written(format, back), written(format, read_text(text).rows)) << each;
    EXPECT_EQ(read->row_count, rows.size());
  }
}

TEST(RowsReadBack, AFileThatIsNoneIsNamed) {
  const ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::ofstream(folder / "cut.csv") << written({}, {Row{}}) + "Tensor,x";
  const auto none = [](Row&&) { return Status(); };
  for (const char* name : {"missing", "pipe", "."}) {
    const auto read = read_rows_of_file(folder / name, none);
    ASSERT_FALSE(read) << name;
    EXPECT_NE(read.error().message.find(folder / name), std::string::npos) << read.error().message;
  }
  const auto cut = read_rows_of_file(folder / "cut.csv", none);
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("cut.csv, line 3: the last line does not end"), std::string::npos)
      << cut.error().message;
}

}  // namespace rows_read_back_test
}  // namespace tensorstat
