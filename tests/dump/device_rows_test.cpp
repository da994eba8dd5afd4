// With stat_calc_mode "device", or if a backend asks for it, rows equal those that MindSpore 2.7 gets from its device.
// The expected texts come from its documents and sources: debug/data_dump/device_statistic and the printing of one
// element.
#include "stats/data/files/io/folders.hpp"
#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace device_rows_test {

class DeviceRows : public SessionTest {
 protected:
  DeviceRows() { options.device_rows = true; }

  // The rows' text from the column Data Type on, without the heading.
  std::string dumped(const std::vector<DumpTensor>& tensors,
                     const std::string& categories = R"(["max", "min", "avg", "l2norm"])",
                     const std::string& e2e = R"({"stat_calc_mode": "device"})") {
    remove_folder(folder / "rank_0");
    auto session = open(R"({"statistic_category": )" + categories + "}", e2e);
    collect(session, {}, "x", tensors);
    EXPECT_TRUE(session.close());
    const std::string text = content_of(folder / "rank_0/Net/0/0/statistic.csv");
    std::string rows;
    for (std::size_t begin = text.find('\n') + 1; begin != 0 && begin < text.size();) {
      std::size_t field = begin;
      for (int commas = 0; commas < 8; ++commas) field = text.find(',', field) + 1;
      const std::size_t end = text.find('\n', begin);
      rows += text.substr(field, end + 1 - field);
      begin = end + 1;
    }
    return rows;
  }

  const std::vector<std::uint8_t> truths{0, 1, 1};
  const std::vector<std::int32_t> wholes{1234567891, -2, 3};
  const std::vector<std::int64_t> longs{9007199254740993, -1};
  const std::vector<float> reals{1.0F / 3, 3e38F, -3e38F};
};

TEST_F(DeviceRows, TruthsDigitsAndNulls) {
  EXPECT_EQ(dumped({tensor(truths, Dtype::kBool)}), "bool,\"(3)\",True,False,null,null,\n");
  EXPECT_EQ(dumped({tensor(wholes, Dtype::kInt32)}), "int32,\"(3)\",1234567891,-2,4.11523e+08,null,\n");
  EXPECT_EQ(dumped({tensor(longs, Dtype::kInt64)}), "int64,\"(2)\",9007199254740993,-1,4.5036e+15,null,\n");
  EXPECT_EQ(dumped({tensor(reals, Dtype::kFloat32)}), "float32,\"(3)\",3e+38,-3e+38,0.111111,inf,\n")
      << "a norm of float32 overflows";
  const std::vector<double> doubles{1.0 / 3};
  EXPECT_EQ(dumped({tensor(doubles, Dtype::kFloat64)}), "float64,\"(1)\",0.333333,0.333333,0.333333,null,\n");
  const std::vector<std::uint16_t> words{7};
  EXPECT_EQ(dumped({tensor(words, Dtype::kUint16)}), "uint16,\"(1)\",null,null,null,null,\n");
  const std::vector<std::uint8_t> bytes{200};
  EXPECT_EQ(dumped({tensor(bytes, Dtype::kUint8)}), "uint8,\"(1)\",200,200,200,null,\n");
}

TEST_F(DeviceRows, ComplexAndPackedTensorsHaveRowsOfNulls) {
  DumpTensor complex = tensor(reals, Dtype::kFloat32);
  complex.tensor.element_count = 2;
  complex.shape = {1};
  complex.stored = Stored::kComplex64;
  EXPECT_EQ(dumped({complex}), "complex64,\"(1)\",null,null,null,null,\n");
  DumpTensor packed = tensor(truths, Dtype::kUint8);
  packed.shape = {6};
  packed.stored = Stored::kInt4;
  EXPECT_EQ(dumped({packed}), "int4,\"(6)\",null,null,null,null,\n");
}

TEST_F(DeviceRows, LowPrecisionHasNoTruths) {
  const std::string low = R"({"stat_calc_mode": "device", "device_stat_precision_mode": "low"})";
  EXPECT_EQ(dumped({tensor(truths, Dtype::kBool)}, R"(["max", "avg"])", low), "bool,\"(3)\",null,null,\n");
}

TEST_F(DeviceRows, WhatTheDeviceHasNotHasNoColumn) {
  EXPECT_EQ(dumped({tensor(truths, Dtype::kBool)}, R"(["count", "max", "md5", "max"])"), "bool,\"(3)\",True,True,\n");
  EXPECT_TRUE(was_said("statistic_category has what the device does not compute"));
}

TEST_F(DeviceRows, LaterVersionsHaveThemInTheirShapes) {
  options.dialect = Dialect::kMindsporeNext;
  EXPECT_EQ(dumped({tensor(truths, Dtype::kBool)}), "bool,\"[3]\",True,False,null,null,\n");
}

TEST_F(DeviceRows, AreReadAsWhatTheyMean) {
  dumped({tensor(truths, Dtype::kBool), tensor(longs, Dtype::kInt64, Io::kOutput, 1)});
  const auto read = rows();
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].statistics.values, (std::vector<Value>{std::uint64_t{1}, std::uint64_t{0}, Value{}, Value{}}));
  EXPECT_EQ(*read[1].statistics.find(Category::kMax), Value{std::int64_t{9007199254740993}});
}

// Without the request, and for dialects that have no such rows, nothing is left out.
TEST_F(DeviceRows, AreNotThoseOfTheHostOrOfOurDialect) {
  EXPECT_EQ(dumped({tensor(truths, Dtype::kBool)}, R"(["max", "l2norm"])", "{}"), "bool,\"(3)\",1,1.41421,\n");
  options.dialect = Dialect::kOurs;
  EXPECT_EQ(dumped({tensor(truths, Dtype::kBool)}, R"(["max", "count"])"), "bool,\"(3)\",1,3\n");
  options.dialect = Dialect::kMindspore27;
  options.device_rows = false;
  EXPECT_EQ(dumped({tensor(wholes, Dtype::kInt32)}, R"(["max", "count"])"), "int32,\"(3)\",1.23457e+09,3,\n");
}

}  // namespace device_rows_test
}  // namespace tensorstat
