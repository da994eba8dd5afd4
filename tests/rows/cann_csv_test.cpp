// CANN's csv for each run of an operator, and the statistic.csv that msprobe makes of these files: written like theirs,
// with both forms of the heading, and read with all known variations.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/names/run_name.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace cann_csv_test {

const std::string kDefaultHeading =
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
    "Negative Inf Count,Positive Inf Count\n";
const std::string kDocumentedRow = "Output,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0,0\n";
const std::string kDocumentedName = "aclnnBatchMatMul_0_L2.aclnnBatchMatMul.65535.65535.1725960383079645.csv";

struct Got {
  RowsRead read;
  std::vector<Row> rows;
  std::string fault;
};

Got read_of(const std::string& text) {
  Got got;
  auto read = read_rows(text, [&](Row&& row) { return got.rows.push_back(std::move(row)), Status(); });
  if (read) {
    got.read = *std::move(read);
  } else {
    got.fault = read.error().message;
  }
  return got;
}

std::string written(const RowFormat& format, const std::vector<Row>& rows) {
  std::string text;
  auto writer = RowWriter::open(format, [&](std::string_view lines) { return text += lines, Status(); });
  if (!writer) return writer.error().message;
  for (const Row& row : rows) {
    if (const Status done = writer->write(row); !done) return done.error().message;
  }
  return text;
}

Row row_of(Categories categories, std::vector<Value> values) {
  Row row;
  row.identity = {"aclnnAdd", "aclnnAdd", 7, 3, 1725960383079645, "input", 1};
  row.data_size_bytes = 24;
  row.data_type = "float32";
  row.shape = {2, 3};
  row.statistics = {std::move(categories), std::move(values)};
  return row;
}

std::string heading_of(Categories categories) {
  const std::string text = written({Dialect::kCann, std::move(categories), {}}, {});
  return text.substr(0, text.find('\n'));
}

std::string second_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

const Value* value_of(const Row& row, Category category) { return row.statistics.find(category); }

TEST(CannCsv, TheDocumentedRowIsReadAndWrittenAgain) {
  const ScratchFolder folder;
  std::ofstream(folder / kDocumentedName) << kDefaultHeading + kDocumentedRow;
  std::vector<Row> rows;
  const auto read =
      read_rows_of_file(folder / kDocumentedName, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->dialect, Dialect::kCann);
  EXPECT_EQ(read->columns, std::vector<std::string>{"format"});
  ASSERT_EQ(rows.size(), 1u);
  const Identity& identity = rows[0].identity;
  EXPECT_EQ(identity.op_type, "aclnnBatchMatMul_0_L2");
  EXPECT_EQ(identity.op_name, "aclnnBatchMatMul");
  EXPECT_EQ(identity.task_id, 65535u);
  EXPECT_EQ(identity.stream_id, 65535u);
  EXPECT_EQ(identity.timestamp_us, 1725960383079645u);
  EXPECT_EQ(identity.io, "output");
  EXPECT_EQ(*identity.find("format"), Cell{std::string("NHWC")});
  EXPECT_EQ(rows[0].data_type, "float32");
  EXPECT_EQ(rows[0].shape, (Shape{4, 50, 50, 16}));
  EXPECT_EQ(*value_of(rows[0], Category::kCount), Value{std::uint64_t{160000}});
  EXPECT_EQ(*value_of(rows[0], Category::kMax), Value{1.99999});
  EXPECT_EQ(written({Dialect::kCann, read->categories, {}}, rows), kDefaultHeading + kDocumentedRow);
  EXPECT_EQ(file_name(Dialect::kCann, identity), kDocumentedName);
}

TEST(CannCsv, CountStandsBehindAvgInTheDefaultFormAndBehindShapeInEveryOther) {
  using enum Category;
  EXPECT_EQ(heading_of({kPositiveInfCount, kAvg, kMax, kNanCount, kMin, kNegativeInfCount}) + "\n", kDefaultHeading)
      << "whatever the order asked";
  EXPECT_EQ(heading_of({kMax, kMin, kAvg, kNanCount, kNegativeInfCount, kPositiveInfCount, kL2norm}),
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,Avg Value,Nan Count,"
            "Negative Inf Count,Positive Inf Count,l2norm");
  EXPECT_EQ(heading_of({kL2norm, kMax}), "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm");
  EXPECT_EQ(heading_of({}), "Input/Output,Index,Data Size,Data Type,Format,Shape,Count");
  const Row row = row_of({kL2norm, kMax}, {2.5, 1.0});
  EXPECT_EQ(second_line(written({Dialect::kCann, {kL2norm, kMax}, {}}, {row})), "Input,1,24,DT_FLOAT,ND,2x3,6,1,2.5\n")
      << "the number of elements is that of the shape where it was not measured";
}

TEST(CannCsv, AStatisticWithoutAColumnIsRefusedByName) {
  const std::string fault = written({Dialect::kCann, {Category::kMax, Category::kVar}, {}}, {});
  EXPECT_NE(fault.find("the dialect cann has no column for var; it has count, max"), fault.npos) << fault;
  EXPECT_NE(written({Dialect::kMsprobeO2, {Category::kCount}, {}}, {}).find("no column for count"), fault.npos);
}

TEST(CannCsv, AFileIsOfOneRun) {
  const Row one = row_of({Category::kMax}, {1.0});
  Row other = one;
  other.identity.timestamp_us++;
  const std::string fault = written({Dialect::kCann, {Category::kMax}, {}}, {one, other});
  EXPECT_NE(fault.find("one run of an operator"), fault.npos) << fault;
}

TEST(CannCsv, FieldsAreSpelledAsCannSpellsThem) {
  using enum Category;
  Row row = row_of({kMax, kMin, kAvg}, {std::int64_t{-1234567}, Value{}, 1.0 / 3});
  row.data_type = "int32";
  row.shape = {};
  row.identity.io = "output";
  row.identity.set("format", std::string("FRACTAL_Z"));
  const RowFormat format{Dialect::kCann, {kMax, kMin, kAvg}, {}};
  EXPECT_EQ(second_line(written(format, {row})), "Output,1,24,DT_INT32,FRACTAL_Z,-,1,-1234567,NA,0.333333\n")
      << "a scalar, a value that does not exist, six digits of a real and all of an integer";
  row.data_type = "float8_e4m3fnuz";
  EXPECT_NE(written(format, {row}).find(",UNKNOW,"), std::string::npos);
  row.data_type = "DT_QINT8";
  EXPECT_NE(written(format, {row}).find(",DT_QINT8,"), std::string::npos) << "as it was read";
  row.statistics.values = {std::nan(""), std::numeric_limits<double>::infinity(), -0.0};
  EXPECT_TRUE(written(format, {row}).ends_with(",nan,inf,-0\n"));
}

TEST(CannCsv, EveryDtypeHasItsWord) {
  for (const auto& [name, word] :
       std::initializer_list<std::pair<std::string, std::string>>{{"float32", "DT_FLOAT"},
                                                                  {"float16", "DT_FLOAT16"},
                                                                  {"bfloat16", "DT_BF16"},
                                                                  {"float64", "DT_DOUBLE"},
                                                                  {"int8", "DT_INT8"},
                                                                  {"int16", "DT_INT16"},
                                                                  {"int32", "DT_INT32"},
                                                                  {"int64", "DT_INT64"},
                                                                  {"uint8", "DT_UINT8"},
                                                                  {"uint16", "DT_UINT16"},
                                                                  {"uint32", "DT_UINT32"},
                                                                  {"uint64", "DT_UINT64"},
                                                                  {"bool", "DT_BOOL"},
                                                                  {"int4", "DT_INT4"},
                                                                  {"uint1", "DT_UINT1"},
                                                                  {"complex64", "DT_COMPLEX64"},
                                                                  {"complex128", "DT_COMPLEX128"},
                                                                  {"float8_e5m2", "DT_FLOAT8_E5M2"},
                                                                  {"float8_e4m3fn", "DT_FLOAT8_E4M3FN"}}) {
    Row row = row_of({}, {});
    row.data_type = name;
    const std::string text = written({Dialect::kCann, {}, {}}, {row});
    EXPECT_NE(text.find("," + word + ","), text.npos) << text;
    EXPECT_EQ(read_of(text).rows.at(0).data_type, name);
  }
}

// Three quirks. The texts are from CANN's own unit tests if those have them.
TEST(CannCsv, ARowWithoutStatisticsMayLackItsCount) {
  const Got custom = read_of(
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,l2norm\n"
      "Input,0,268435456,DT_INT64,ND,100x20x40,NA,NA,NA\n"
      "Input,1,8,DT_FLOAT,ND,2,2,1.5,1,2.5\n");
  ASSERT_EQ(custom.rows.size(), 2u) << custom.fault;
  for (const Value& value : custom.rows[0].statistics.values) EXPECT_EQ(value, Value{});
  EXPECT_EQ(*value_of(custom.rows[1], Category::kCount), Value{std::uint64_t{2}});
  const Got plain = read_of(kDefaultHeading + "Input,0,268435456,DT_INT32,ALL,100x20x40,NA,NA,NA,80000,NA,NA,NA\n");
  ASSERT_EQ(plain.rows.size(), 1u) << plain.fault;
  EXPECT_EQ(*value_of(plain.rows[0], Category::kCount), Value{std::uint64_t{80000}});
  EXPECT_EQ(*value_of(plain.rows[0], Category::kMax), Value{});
}

TEST(CannCsv, AHeadingMayAnnounceACountThatNoRowHas) {
  const std::string begin = "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,";
  const Got nowhere = read_of(begin + "l2norm\nInput,0,268435456,DT_INT32,ALL,100x20x40,1234,5678,90.3005\n");
  ASSERT_EQ(nowhere.rows.size(), 1u) << nowhere.fault;
  EXPECT_EQ(*value_of(nowhere.rows[0], Category::kCount), Value{});
  EXPECT_EQ(*value_of(nowhere.rows[0], Category::kMax), Value{std::int64_t{1234}});
  EXPECT_EQ(*value_of(nowhere.rows[0], Category::kL2norm), Value{90.3005});
  const Got second = read_of(begin +
                             "Count,Nan Count\nInput,0,8,DT_INT32,ND,2,1234,5678,2,0\n"
                             "Input,1,8,DT_INT32,ND,2,NA,NA,NA\n");
  ASSERT_EQ(second.rows.size(), 2u) << second.fault;
  EXPECT_EQ(*value_of(second.rows[0], Category::kCount), Value{std::uint64_t{2}});
  EXPECT_EQ(*value_of(second.rows[0], Category::kMin), Value{std::int64_t{5678}});
  EXPECT_EQ(*value_of(second.rows[1], Category::kMin), Value{});
  const Got among = read_of(begin + "Count,Nan Count,Negative Inf Count\nInput,0,8,DT_INT32,ND,2,NA,NA,NA,2,NA\n");
  ASSERT_EQ(among.rows.size(), 1u) << among.fault;
  EXPECT_EQ(*value_of(among.rows[0], Category::kCount), Value{std::uint64_t{2}}) << "the one that is no NA";
  EXPECT_EQ(*value_of(among.rows[0], Category::kNanCount), Value{});
}

TEST(CannCsv, StatisticsMayBeEmptyFields) {
  const Got got = read_of(kDefaultHeading + "Input,0,8,DT_BF16,ND,4,,,,,,,\nInput,1,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0\n");
  ASSERT_EQ(got.rows.size(), 2u) << got.fault;
  for (const Value& value : got.rows[0].statistics.values) EXPECT_EQ(value, Value{});
  const Got fewer = read_of(kDefaultHeading + "Input,0,8,-,ND,4,,,,,,\n");
  ASSERT_EQ(fewer.rows.size(), 1u) << fewer.fault;
  EXPECT_EQ(fewer.rows[0].data_type, "-");
}

TEST(CannCsv, WhatIsNoneOfThemIsRefusedWithItsLine) {
  const std::string good = kDefaultHeading + kDocumentedRow;
  for (const auto& [row, complaint] : std::initializer_list<std::pair<std::string, std::string>>{
           {"Output,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0\n",
            "12 fields where the heading has 13"},
           {"Output,0,640000,DT_FLOAT,NHWC,4x50x50x16,1,1,1,1,0,0,0,0\n", "14 fields"},
           {"Output,0,640000,DT_FLOAT,NHWC,4x,1,1,1,1,0,0,0\n", "Shape is \"4x\", not like 2x3"},
           {"Output,0,640000,DT_FLOAT,NHWC,(4),1,1,1,1,0,0,0\n", "Shape"},
           {"Outpu,0,640000,DT_FLOAT,NHWC,4,1,1,1,1,0,0,0\n", "neither input nor output"},
           {"Output,x,640000,DT_FLOAT,NHWC,4,1,1,1,1,0,0,0\n", "Index is \"x\""},
           {"Output,0,640000,DT_FLOAT,NHWC,4,1,1,1,1.5,0,0,0\n", "Count is \"1.5\""},
           {"Output,0,640000,DT_FLOAT,NHWC,4,1,1,1,1,0,0,0", "cut off"}}) {
    const Got got = read_of(good + row);
    EXPECT_NE(got.fault.find("line 3"), std::string::npos) << row << got.fault;
    EXPECT_NE(got.fault.find(complaint), std::string::npos) << row << got.fault;
    EXPECT_EQ(got.rows.size(), 1u);
  }
}

TEST(CannCsv, NamesOfFilesAreTakenApartFromTheRight) {
  const auto named = [](std::string_view path) { return identity_of_run(path); };
  EXPECT_EQ(named("a/b.c/Conv.2D.conv1.3.4.5.csv")->op_type, "Conv.2D");
  EXPECT_EQ(named("Conv2D.conv1.3.4.5.csv")->op_name, "conv1");
  const auto context = named("Conv2D.conv1.3.4.5.0.1.2.7.csv");  // FFTS+
  ASSERT_TRUE(context);
  EXPECT_EQ(context->op_name, "conv1");
  EXPECT_EQ(context->timestamp_us, 5u);
  for (const char* other : {"statistic.csv", "conv1.3.4.5.csv", ".conv1.3.4.5.csv", "Conv2D..3.4.5.csv",
                            "a.b.3.4.x.csv", "a.b.3.4.5.npy", "a.b.3.4.18446744073709551616.csv", ".csv", ""}) {
    EXPECT_FALSE(named(other)) << other;
  }
  Identity identity;
  identity.op_type = "Conv.2D";
  identity.op_name = "Default/net/conv 1\n";
  EXPECT_EQ(file_name(Dialect::kCann, identity), "Conv_2D.Default_net_conv_1_.0.0.0.csv");
  EXPECT_EQ(file_name(Dialect::kMsprobeO2, identity), "statistic.csv");
}

TEST(CannCsv, AFileOfAnotherNameIsItsOperator) {
  const ScratchFolder folder;
  std::ofstream(folder / "found.csv") << kDefaultHeading + kDocumentedRow;
  const auto read = read_rows_of_file(folder / "found.csv", [](Row&& row) {
    EXPECT_EQ(row.identity.op_name, "found");
    EXPECT_EQ(row.identity.op_type, "Tensor");
    return Status();
  });
  EXPECT_TRUE(read);
}

TEST(MsprobeO2Csv, RowsOfTheDeviceAndOfDigests) {
  const std::string heading =
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,Format,Shape,";
  const std::string device = "Add,Default_Add-op1,7,3,1725960383079645,Input,1,24,DT_FLOAT,ND,2x3,1,-1,0.333333,2.5\n";
  const Got got = read_of(heading + "Max Value,Min Value,Avg Value,L2Norm Value\n" + device);
  ASSERT_EQ(got.rows.size(), 1u) << got.fault;
  EXPECT_EQ(got.read.dialect, Dialect::kMsprobeO2);
  EXPECT_EQ(got.rows[0].identity.op_name, "Default_Add-op1");
  EXPECT_EQ(got.rows[0].identity.io, "input");
  EXPECT_EQ(got.rows[0].shape, (Shape{2, 3}));
  EXPECT_EQ(second_line(written({Dialect::kMsprobeO2, got.read.categories, {}}, got.rows)), device);

  const std::string digits(32, 'a');
  const Got md5 = read_of(heading + "MD5 Value\nAdd,x,7,3,5,input,1,24,FLOAT,ND,(2,3)," + digits +
                          "\nAdd,x,7,3,5,output,0,4,BF16,ND,()," + digits + "\n");
  ASSERT_EQ(md5.rows.size(), 2u) << md5.fault;
  EXPECT_EQ(md5.rows[0].shape, (Shape{2, 3}));
  EXPECT_EQ(md5.rows[0].data_type, "float32");
  EXPECT_EQ(md5.rows[1].data_type, "bfloat16");
  EXPECT_EQ(md5.rows[1].shape, Shape{});
  EXPECT_EQ(*value_of(md5.rows[1], Category::kMd5), Value{*Digest::from(digits)});
}

TEST(MsprobeO2Csv, StatisticsStandInItsOrder) {
  using enum Category;
  const std::string text = written(
      {Dialect::kMsprobeO2, {kMd5, kPositiveInfCount, kNegativeInfCount, kNanCount, kL2norm, kAvg, kMin, kMax}, {}},
      {});
  EXPECT_NE(text.find("Format,Shape,Max Value,Min Value,Avg Value,L2Norm Value,NaN Count,Negative Inf Count,"
                      "Positive Inf Count,MD5 Value\n"),
            text.npos)
      << text;
}

}  // namespace cann_csv_test
}  // namespace tensorstat
