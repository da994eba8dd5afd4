// statistic.csv in each dialect equals its definition, byte for byte, and reads back.
#include "stats/data/rows/csv/statistic_csv.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace tensorstat {
namespace statistic_csv_test {

Row row_of(std::string name, Categories categories, std::vector<Value> values) {
  Row row;
  row.identity = {"Sub", std::move(name), 0, 3, 1733905446819790, "input", 1};
  row.data_size_bytes = 24;
  row.data_type = "float32";
  row.shape = {2, 3};
  row.statistics = {std::move(categories), std::move(values)};
  return row;
}

std::vector<Row> read_all(const std::string& text, std::optional<Dialect> dialect) {
  std::vector<Row> rows;
  const auto content = read_rows(text, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  EXPECT_TRUE(content) << content.error().message;
  if (content) {
    EXPECT_EQ(content->dialect, dialect);
    EXPECT_EQ(content->row_count, rows.size());
  }
  return rows;
}

std::string fault_of(const std::string& text) {
  const auto content = read_rows(text, [](Row&&) { return Status(); });
  return content ? "" : content.error().message;
}

const Categories kDefault{Category::kMax, Category::kMin, Category::kL2norm};
constexpr auto kInf = std::numeric_limits<double>::infinity();
constexpr auto kNan = std::numeric_limits<double>::quiet_NaN();

TEST(StatisticCsv, HeadingNamesEveryColumnInTheOrderAsked) {
  EXPECT_EQ(csv_header(kDefault, Dialect::kMindspore27),
            "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
            "Max Value,Min Value,L2Norm Value\n");
  EXPECT_EQ(csv_header({Category::kMd5, Category::kNanCount}, Dialect::kOurs),
            "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
            "MD5,NaN Count\n");
}

TEST(StatisticCsv, DialectsDifferInNameShapeDigitsAndTheLastComma) {
  const Row row = row_of("Default/net/Sub-op0", kDefault, {1.0 / 3, -1234567.0, 65504.0});
  EXPECT_EQ(csv_row(row, Dialect::kOurs),
            "Sub,Default/net/Sub-op0,0,3,1733905446819790,input,1,24,float32,\"(2,3)\","
            "0.3333333333333333,-1234567,65504\n");
  EXPECT_EQ(csv_row(row, Dialect::kMindspore27),
            "Sub,Default_net_Sub-op0,0,3,1733905446819790,input,1,24,float32,\"(2,3)\","
            "0.333333,-1.23457e+06,65504,\n");
  EXPECT_EQ(csv_row(row, Dialect::kMindsporeNext),
            "Sub,Default/net/Sub-op0,0,3,1733905446819790,input,1,24,float32,\"[2,3]\","
            "0.333333,-1.23457e+06,65504,\n");
}

// A file written by MindSpore, published with msprobe's tests.
TEST(StatisticCsv, ReadsAFileOfMindsporeAndWritesTheSameBytes) {
  const std::string text =
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,"
      "Min Value,L2Norm Value\n"
      "Sub,Default_Sub-op0,0,0,1733905446819790,input,0,4,float32,\"()\",3,3,3,\n"
      "Cast,Default_Cast-op0,0,0,1733905446824053,input,1,8,int64,\"()\",30,30,30,\n"
      "Cast,Default_Cast-op0,0,0,1733905446824184,output,0,1,bool,\"()\",1,1,1,\n"
      "Div,Default_Div-op0,0,0,1733905446828341,output,0,4,float32,\"()\",0.5,0.5,0.5,\n";
  const auto rows = read_all(text, Dialect::kMindspore27);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].statistics.values[0], Value{std::int64_t{30}});
  EXPECT_EQ(rows[1].statistics.values[2], Value{30.0});
  EXPECT_EQ(rows[3].statistics.values[0], Value{0.5});
  std::string again = csv_header(rows[0].statistics.categories, Dialect::kMindspore27);
  for (const Row& row : rows) again += csv_row(row, Dialect::kMindspore27);
  EXPECT_EQ(again, text);
}

TEST(StatisticCsv, MindsporeNumbersAreWhatADefaultStreamPrints) {
  const struct {
    double value;
    const char* text;
  } cases[] = {{65504, "65504"},   {1234567, "1.23457e+06"},
               {100000, "100000"}, {1e6, "1e+06"},
               {0.0001, "0.0001"}, {1e-5, "1e-05"},
               {-0.0, "-0"},       {kInf, "inf"},
               {-kInf, "-inf"},    {kNan, "nan"},
               {-kNan, "nan"},     {5e-324, "4.94066e-324"}};
  for (const auto& one : cases) {
    const auto line = csv_row(row_of("n", {Category::kAvg}, {one.value}), Dialect::kMindspore27);
    EXPECT_TRUE(line.ends_with(std::string("\",") + one.text + ",\n")) << line;
  }
  const auto extreme = csv_row(row_of("n", {Category::kMax, Category::kCount},
                                      {std::numeric_limits<std::int64_t>::max(), std::uint64_t{1234567890123}}),
                               Dialect::kMindspore27);
  EXPECT_TRUE(extreme.ends_with(",9.22337e+18,1234567890123,\n")) << extreme;
}

TEST(StatisticCsv, AMissingValueIsEmptyInOursAndNullInTheirs) {
  const Row row = row_of("n", {Category::kMax, Category::kMd5}, {Value{}, Value{}});
  EXPECT_TRUE(csv_row(row, Dialect::kOurs).ends_with("\",,\n"));
  EXPECT_TRUE(csv_row(row, Dialect::kMindspore27).ends_with("\",null,,\n"));
  for (const auto dialect : {Dialect::kOurs, Dialect::kMindspore27}) {
    const auto rows = read_all(csv_header(row.statistics.categories, dialect) + csv_row(row, dialect), dialect);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].statistics.values, row.statistics.values);
  }
}

TEST(StatisticCsv, OursGivesEveryTextAndEveryDoubleBack) {
  const std::string names[] = {"a,b", "a\"b\"", "\"",   "two\nlines", "cr\rlf\r\n", "=1+1",     "+x",      "-x",
                               "@x",  "\tx",    "\rx",  "'=1",        "''=1",       "'quoted'", "",        "'",
                               "x=1", "\xff",   "\n=1", " =1",        "' =1",       " '=1",     "\uff1d1", "'\uff1d1",
                               "-",   "'-",     "=",    " - ",        "'\n"};
  const double doubles[] = {0.1, -0.0, 5e-324, 1.7976931348623157e308, kInf, -kInf, 1.0 / 3};
  for (const auto& name : names) {
    for (const double value : doubles) {
      const Row row = row_of(name, {Category::kMax}, {value});
      const auto line = csv_row(row, Dialect::kOurs);
      const auto rows = read_all(csv_header({Category::kMax}, Dialect::kOurs) + line + line, Dialect::kOurs);
      ASSERT_EQ(rows.size(), 2u) << name;
      EXPECT_EQ(rows[1].identity.op_name, name);
      const double got = std::get<double>(rows[1].statistics.values[0]);
      EXPECT_EQ(std::memcmp(&got, &value, sizeof got), 0) << line;
    }
  }
}

TEST(StatisticCsv, AByteOrderMarkBeforeTheHeadingIsPassedOver) {
  const Row row = row_of("a", {Category::kMax}, {1.5});
  const auto rows = read_all(
      "\xef\xbb\xbf" + csv_header({Category::kMax}, Dialect::kOurs) + csv_row(row, Dialect::kOurs), Dialect::kOurs);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].identity.op_type, row.identity.op_type);
  std::string quoted = csv_header({Category::kMax}, Dialect::kOurs);  // as a spreadsheet may write it
  quoted.insert(quoted.find(','), "\"");
  const auto same =
      read_all("\xef\xbb\xbf\"" + quoted + csv_row(row, Dialect::kOurs) + csv_row(row, Dialect::kOurs), Dialect::kOurs);
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[0].identity.op_type, row.identity.op_type);
}

TEST(StatisticCsv, NoTextCellOfOursRunsAsAFormula) {
  for (const char* name : {"=cmd()", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1", " =1", "  +1", "\uff1d1", "\uff0b1",
                           "\uff0d1", "\uff20sum", " \uff1d1"}) {
    const auto line = csv_row(row_of(name, {}, {}), Dialect::kOurs);
    const auto cell = line.substr(4 + (line[4] == '"' ? 1 : 0));
    EXPECT_EQ(cell[0], '\'') << line;
  }
}

TEST(StatisticCsv, ARowOfTheirsIsOneLineWhateverTheName) {
  for (const auto dialect : {Dialect::kMindspore27, Dialect::kMindsporeNext}) {
    const auto line = csv_row(row_of("a\nb\rc,\"d\"", kDefault, {1.0, 1.0, 1.0}), dialect);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto rows = read_all(csv_header(kDefault, dialect) + line, dialect);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].identity.op_name, "a_b_c,\"d\"");
    EXPECT_EQ(rows[0].shape, (Shape{2, 3}));
  }
}

TEST(StatisticCsv, ReadsWhatOtherVersionsAndProcessorsWrite) {
  const auto head = csv_header({Category::kMax, Category::kMax, Category::kAvg}, Dialect::kOurs);
  const auto rows = read_all(head + "A,n,0,0,1,output,0,1,bool,\"()\",True,False,null,\r\n" +
                                 "A,n,0,0,1,output,0,8,int64,\"(1)\",-nan,9.22337e+18,-nan,\n",
                             Dialect::kMindspore27);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].statistics.values[0], Value{std::uint64_t{1}});
  EXPECT_EQ(rows[0].statistics.values[1], Value{std::uint64_t{0}});
  EXPECT_EQ(rows[0].statistics.values[2], Value{});
  EXPECT_EQ(rows[1].statistics.values[1], Value{9.22337e18});
  EXPECT_FALSE(std::signbit(std::get<double>(rows[1].statistics.values[2])));
}

TEST(StatisticCsv, WhatIsWrongIsSaidWithItsLine) {
  const auto head = csv_header({Category::kMax}, Dialect::kOurs);
  const std::string good = "A,n,0,0,1,output,0,4,float32,\"(1)\",1\n";
  const struct {
    std::string text;
    const char* line;
    const char* word;
  } cases[] = {
      {"", "line 1:", "does not end"},
      {"Op Type,Op Name\n", "line 1:", "must begin with"},
      {"Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Mox\n", "line 1:", "\"Mox\""},
      {head + good + good.substr(0, 20), "line 3:", "cut off"},
      {head + good.substr(0, good.size() - 1), "line 2:", "cut off"},
      {head + good + "A,n,0,0,1,output,0,4,float32,\"(1)\"\n", "line 3:", "10 fields"},
      {head + good + "A,n,0,0,1,output,0,4,float32,\"(1)\",1,2\n", "line 3:", "12 fields"},
      {head + "A,n,0,0,-1,output,0,4,float32,\"(1)\",1\n", "line 2:", "Timestamp"},
      {head + "A,n,0,0,1,sideways,0,4,float32,\"(1)\",1\n", "line 2:", "sideways"},
      {head + "A,n,0,0,1,output,0,4,float32,\"(1,)\",1\n", "line 2:", "Shape"},
      {head + "A,n,0,0,1,output,0,4,float32,\"[1]\",1\n", "line 2:", "Shape"},
      {head + "A,n,0,0,1,output,0,4,float32,\"(1)\",1 \n", "line 2:", "Max Value"},
      {head + "A,n,0,0,1,output,0,4,float32,\"(1)\",1e999\n", "line 2:", "Max Value"},
      {head + "A,\"n,0,0,1,output,0,4,float32,(1),1\n", "line 2:", "never closed"},
      {head + "A,\"n\"x,0,0,1,output,0,4,float32,\"(1)\",1\n", "line 2:", "closing quote"},
      {head + "A,\"n\nm\",0,0,1,output,0,4,float32,\"(1)\",1\n" + good + "x\n", "line 5:", "fields"},
      {head + "A,n,0,0,1,output,0,4,float32,\"(1)\",1,\nA,n,0,0,1,output,0,4,float32,\"[1]\",1,\n",
       "line 3:", "mindspore-next"}};
  for (const auto& one : cases) {
    const auto fault = fault_of(one.text);
    EXPECT_NE(fault.find(one.line), fault.npos) << one.text << "\n-> " << fault;
    EXPECT_NE(fault.find(one.word), fault.npos) << one.text << "\n-> " << fault;
  }
}

TEST(StatisticCsv, NamesOfTheDialects) {
  for (const auto dialect : {Dialect::kOurs, Dialect::kMindspore27, Dialect::kMindsporeNext}) {
    EXPECT_EQ(dialect_from(name(dialect)), dialect);
  }
  EXPECT_EQ(dialect_from("excel"), std::nullopt);
}

}  // namespace statistic_csv_test
}  // namespace tensorstat
