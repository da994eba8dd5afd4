// Tensors handed over give the same statistic.csv as MindSpore, byte for byte.

#include "tests/support/dump_session.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace session_statistics_test {

using SessionStatistics = SessionTest;

std::string without_timestamps(const std::string& text) { return test::replaced(text, ",[0-9]{16},", ",T,"); }

TEST_F(SessionStatistics, AreMindsporesBytes) {
  auto session = open(R"({"statistic_category": ["max", "min", "avg", "count", "negative zero count",
      "positive zero count", "nan count", "negative inf count", "positive inf count", "zero count",
      "md5", "l2norm"]})");
  const std::vector<float> floats{-3, 0, 4, 1.0f / 3};
  const std::vector<std::int64_t> integers{7};
  auto scalar = tensor(integers, Dtype::kInt64, Io::kInput, 1);
  scalar.shape = {};
  auto matrix = tensor(floats, Dtype::kFloat32);
  matrix.shape = {2, 2};
  const auto* op = session.operator_named("Add", "Default/net.x/Add-op1", false, 5);
  const DumpTensor tensors[] = {tensor(floats, Dtype::kFloat32, Io::kInput), scalar, matrix};
  session.collect({}, op, tensors);
  session.close();
  EXPECT_EQ(without_timestamps(content_of(folder / "rank_0/Net/0/0/statistic.csv")),
            "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,"
            "Min Value,Avg Value,Count,Negative Zero Count,Positive Zero Count,NaN Count,"
            "Negative Inf Count,Positive Inf Count,Zero Count,MD5,L2Norm Value\n"
            "Add,Default_net_x_Add-op1,0,5,T,input,0,16,float32,\"(4)\",4,-3,0.333333,4,1,2,0,0,0,1,"
            "03108a6f71d132167cedaca7c29cbed4,5.0111,\n"
            "Add,Default_net_x_Add-op1,0,5,T,input,1,8,int64,\"()\",7,7,7,1,0,1,0,0,0,0,"
            "f5be5308b59e045b7c5b33ee8908cfb7,7,\n"
            "Add,Default_net_x_Add-op1,0,5,T,output,0,16,float32,\"(2,2)\",4,-3,0.333333,4,1,2,0,0,0,"
            "1,03108a6f71d132167cedaca7c29cbed4,5.0111,\n");
  EXPECT_EQ(session.counters().row_count, 3u);
  EXPECT_EQ(session.counters().tensor_count, 3u);
}

TEST_F(SessionStatistics, DefaultToMaxMinL2normAndNothingElseIsWritten) {
  auto session = open();
  const std::vector<float> values{3, -4};
  collect(session, {}, "Default/x-op1", {tensor(values, Dtype::kFloat32)});
  session.close();
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].statistics.categories, (Categories{Category::kMax, Category::kMin, Category::kL2norm}));
  EXPECT_EQ(rows()[0].statistics.values, (std::vector<Value>{3.0, -4.0, 5.0}));
  EXPECT_EQ(files(), std::vector<std::string>{"rank_0/Net/0/0/statistic.csv"});
  const auto mode = std::filesystem::status(folder / "rank_0/Net/0/0/statistic.csv").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read);
}

TEST_F(SessionStatistics, ACategoryNamedTwiceIsTwoColumnsIn27AndOneLater) {
  const std::vector<float> values{3};
  for (const auto dialect : {Dialect::kMindspore27, Dialect::kMindsporeNext, Dialect::kOurs}) {
    options.dialect = dialect;
    auto session = open(R"({"statistic_category": ["max", "min", "max"]})");
    const DumpPlace place{.graph = static_cast<std::uint32_t>(dialect)};
    collect(session, place, "x", {tensor(values, Dtype::kFloat32)});
    session.close();
    const auto table = rows("rank_0/Net/" + std::to_string(place.graph) + "/0/statistic.csv");
    ASSERT_EQ(table.size(), 1u);
    EXPECT_EQ(table[0].statistics.values.size(), dialect == Dialect::kMindspore27 ? 3u : 2u);
  }
}

TEST_F(SessionStatistics, DialectsAndOddNames) {
  options.dialect = Dialect::kOurs;
  auto session = open();
  const std::vector<float> values{0.1f};
  collect(session, {}, "=1+\n,\"x\"", {tensor(values, Dtype::kFloat32)});
  session.close();
  const auto text = content_of(folder / "rank_0/Net/0/0/statistic.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "a row is a line";
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].identity.op_name, "=1+_,\"x\"");
  EXPECT_EQ(rows()[0].statistics.values[0], Value{0.10000000149011612});
}

TEST_F(SessionStatistics, PackedTypesAreMeasuredByTheirValues) {
  auto session = open(R"({"statistic_category": ["max", "min", "count", "zero count", "md5"]})");
  const std::vector<std::uint8_t> int4{0x10, 0x87, 0x09};  // 0 1 7 -8 -7, and an unused half byte
  const std::vector<std::uint8_t> bits{0b10100000};        // 1 0 1
  DumpTensor packed = tensor(int4, Dtype::kUint8), single = tensor(bits, Dtype::kUint8, Io::kOutput, 1);
  packed.stored = Stored::kInt4;
  packed.shape = {5};
  single.stored = Stored::kUint1;
  single.shape = {3};
  collect(session, {}, "x", {packed, single});
  session.close();
  const auto table = rows();
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].data_type, "int4");
  EXPECT_EQ(table[0].data_size_bytes, 3u);
  EXPECT_EQ(table[0].shape, Shape{5});
  EXPECT_EQ(table[0].statistics.values[0], Value{std::int64_t{7}});
  EXPECT_EQ(table[0].statistics.values[1], Value{std::int64_t{-8}});
  EXPECT_EQ(table[0].statistics.values[2], Value{std::uint64_t{5}});
  EXPECT_EQ(table[0].statistics.values[4], Value{*Digest::from("b854fa2287dd497844f56e3e905f949b")})
      << "of the packed bytes";
  EXPECT_EQ(table[1].data_type, "uint1");
  EXPECT_EQ(table[1].statistics.values[2], Value{std::uint64_t{3}});
  EXPECT_EQ(table[1].statistics.values[3], Value{std::uint64_t{1}});
}

TEST_F(SessionStatistics, SamplesAreTheFirstElements) {
  auto session = open(R"({"statistic_category": ["max", "count"]})", R"({"sample_mode": 1, "sample_num": 3})");
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  auto large = tensor(values, Dtype::kFloat32), small = tensor(values, Dtype::kFloat32);
  large.shape = {2, 3};
  small.shape = {1, 3};
  small.tensor.element_count = 3;
  collect(session, {}, "x", {large, small});
  session.close();
  const auto table = rows();
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].shape, Shape{3});
  EXPECT_EQ(table[0].data_size_bytes, 12u);
  EXPECT_EQ(table[0].statistics.values, (std::vector<Value>{3.0, std::uint64_t{3}}));
  EXPECT_EQ(table[1].shape, (Shape{1, 3})) << "not larger than the sample: as it is";
}

TEST_F(SessionStatistics, StridedTensorsAreThoseOfTheirCopyInCOrder) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6}, transposed{1, 4, 2, 5, 3, 6};
  const Strides strides{{3, 2}, {4, 12}};
  for (const std::uint64_t memory : {0, 1 << 20}) {
    std::filesystem::remove_all(folder / "rank_0");
    options.memory_bytes = memory;
    auto session = open(R"({"saved_data": "full", "statistic_category": ["md5", "max"]})",
                        R"({"sample_mode": 1, "sample_num": 5})");
    auto strided = tensor(values, Dtype::kFloat32), plain = tensor(transposed, Dtype::kFloat32);
    strided.tensor.strides = &strides;
    strided.shape = plain.shape = {3, 2};
    collect(session, {}, "x", {strided, plain});
    session.close();
    const auto table = rows();
    ASSERT_EQ(table.size(), 2u);
    EXPECT_EQ(table[0].statistics.values, table[1].statistics.values);
    EXPECT_EQ(table[0].statistics.values[1], Value{5.0});
    const auto saved = files();
    EXPECT_EQ(content_of(folder / saved[0]), content_of(folder / saved[1]));
  }
}

TEST_F(SessionStatistics, WhatHasNone) {
  auto session = open();
  const std::vector<float> none, two{1, 2};
  auto contradiction = tensor(two, Dtype::kFloat32);
  contradiction.shape = {3};
  auto complex = tensor(two, Dtype::kFloat32);
  complex.stored = Stored::kComplex64;
  complex.shape = {1};
  collect(session, {}, "x", {tensor(none, Dtype::kFloat32)});
  collect(session, {}, "x", {contradiction});
  collect(session, {}, "x", {complex});
  session.close();
  EXPECT_EQ(files(), std::vector<std::string>{});
  EXPECT_TRUE(was_said("empty tensors are not dumped"));
  EXPECT_TRUE(was_said("the shape (3) and 2 elements contradict each other"));
  EXPECT_TRUE(was_said("complex tensors have no statistics"));
}

TEST_F(SessionStatistics, OnTheDeviceAsFarAsItGoes) {
  auto session = open(R"({"statistic_category": ["max", "md5", "l2norm"]})",
                      R"({"stat_calc_mode": "device", "sample_mode": 1, "sample_num": 2})");
  const std::vector<float> values(1 << 19, 1.0f);
  collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  session.close();
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].statistics.values[0], Value{1.0});
  EXPECT_EQ(std::get<Digest>(rows()[0].statistics.values[1]).bytes().size(), 16u) << "never dropped";
  EXPECT_EQ(rows()[0].shape, Shape{1 << 19}) << "whole tensors on the device";
}

}  // namespace session_statistics_test
}  // namespace tensorstat
