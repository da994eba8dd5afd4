// Tensors are saved under MindSpore's names, in types that numpy loads.
#include <sys/wait.h>

#include <cstring>
#include <set>
#include <sstream>

#include "tests/support/dump_session.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace session_tensors_test {

class SessionTensors : public SessionTest {
 protected:
  // The name of the only file, without its timestamp; `data` gets the bytes after its header.
  std::string only_file(std::string& data) {
    const auto paths = files();
    EXPECT_EQ(paths.size(), 1u);
    if (paths.empty()) return "";
    const std::string text = content_of(folder / paths[0]);
    data = text.substr(128);
    header = text.substr(0, 128);
    return test::replaced(paths[0], "\\.[0-9]{16}\\.", ".T.");
  }

  std::string header;
};

TEST_F(SessionTensors, PlainOnesKeepTheirBits) {
  auto session = open(R"({"saved_data": "tensor"})");
  const std::vector<float> values{1.5f, -2, 0, 4, 5, 6};
  auto matrix = tensor(values, Dtype::kFloat32, Io::kOutput, 3);
  matrix.shape = {2, 3};
  const auto* op = session.operator_named("Conv2D", "Default/net/Conv2D-op1", false, 2, 9);
  session.collect({.rank = 1, .graph = 4, .iteration = 8}, op, {&matrix, 1});
  session.close();
  std::string data;
  EXPECT_EQ(only_file(data), "rank_1/Net/4/8/Conv2D.Default_net_Conv2D-op1.9.2.T.output.3.DefaultFormat.float32.npy");
  EXPECT_EQ(std::memcmp(data.data(), values.data(), 24), 0);
  EXPECT_NE(header.find("'<f4', 'fortran_order': False, 'shape': (2,3,)"), std::string::npos);
  EXPECT_EQ(session.counters().file_count, 1u);
}

TEST_F(SessionTensors, TypesThatNpyDoesNotKnowAreWidened) {
  const std::vector<std::uint16_t> brain{0x3f80, 0xc000};
  const std::vector<std::uint8_t> packed{0x7f, 0x81};
  struct Case {
    Stored stored;
    DumpTensor tensor;
    std::uint64_t values;
    const char* dtype;
    const char* descr;
    std::string data;
  };
  const float wide[] = {1, -2};
  const std::vector<float> parts{1, 2, 3, 4};
  const std::vector<double> double_parts{1, 2};
  const Case cases[] = {
      {Stored::kPlain, tensor(brain, Dtype::kBfloat16), 2, "bfloat16", "<f4", {reinterpret_cast<const char*>(wide), 8}},
      {Stored::kInt4, tensor(packed, Dtype::kUint8), 3, "int4", "|i1", "\xff\x07\x01"},
      {Stored::kUint1, tensor(packed, Dtype::kUint8), 9, "uint1", "|u1", std::string("\0\1\1\1\1\1\1\1\1", 9)},
      {Stored::kComplex64,
       tensor(parts, Dtype::kFloat32),
       2,
       "complex64",
       "<c8",
       {reinterpret_cast<const char*>(parts.data()), 16}},
      {Stored::kComplex128,
       tensor(double_parts, Dtype::kFloat64),
       1,
       "complex128",
       "<c16",
       {reinterpret_cast<const char*>(double_parts.data()), 16}}};
  for (const Case& one : cases) {
    std::filesystem::remove_all(folder / "rank_0");
    auto session = open(R"({"saved_data": "tensor"})");
    DumpTensor given = one.tensor;
    given.stored = one.stored;
    given.shape = {one.values};
    collect(session, {}, "x", {given});
    session.close();
    std::string data;
    EXPECT_EQ(only_file(data), "rank_0/Net/0/0/Op.x.0.0.T.output.0.DefaultFormat." + std::string(one.dtype) + ".npy");
    EXPECT_EQ(data, one.data);
    EXPECT_NE(header.find(one.descr), std::string::npos);
  }
}

TEST_F(SessionTensors, FullSavesBothUnderOneTimestamp) {
  auto session = open(R"({"saved_data": "full"})");
  const std::vector<double> values{1, 2};
  collect(session, {}, "x", {tensor(values, Dtype::kFloat64)});
  session.close();
  ASSERT_EQ(files().size(), 2u);
  EXPECT_NE(files()[0].find(std::to_string(rows()[0].identity.timestamp_us)), std::string::npos);
}

TEST_F(SessionTensors, SamplesAreSavedInPlaceOfTensors) {
  auto session = open(R"({"saved_data": "tensor"})", R"({"sample_mode": 1, "sample_num": 2})");
  const std::vector<std::int16_t> values{7, 8, 9};
  collect(session, {}, "x", {tensor(values, Dtype::kInt16)});
  session.close();
  std::string data;
  only_file(data);
  EXPECT_EQ(data, std::string("\7\0\10\0", 4));
  EXPECT_NE(header.find("(2,)"), std::string::npos);
}

TEST_F(SessionTensors, TheDevicesFormatOnlyWithoutTransFlag) {
  const std::vector<float> values{1};
  for (const char* flag : {"true", "false"}) {
    std::filesystem::remove_all(folder / "rank_0");
    auto session = open(R"({"saved_data": "tensor"})", R"({"trans_flag": )" + std::string(flag) + "}");
    auto given = tensor(values, Dtype::kFloat32);
    given.format = "NC1HWC0";
    collect(session, {}, "x", {given});
    session.close();
    std::string data;
    EXPECT_NE(only_file(data).find(*flag == 't' ? ".DefaultFormat." : ".NC1HWC0."), std::string::npos);
  }
}

TEST_F(SessionTensors, NamesTooLongForAFileGoThroughMappingCsv) {
  auto session = open(R"({"saved_data": "full"})");
  const std::vector<float> values{1};
  const std::string name = "Default/" + std::string(300, 'n') + "-op1";
  collect(session, {}, name, {tensor(values, Dtype::kFloat32)});
  collect(session, {}, name, {tensor(values, Dtype::kFloat32)});
  session.close();
  const std::string mapping = content_of(folder / "rank_0/Net/0/0/mapping.csv");
  EXPECT_TRUE(test::matches(mapping,
                            "([0-9]{1,10}\\.npy,Op\\.Default_n{300}-op1\\.0\\.0\\.[0-9]{16}\\.output\\.0"
                            "\\.DefaultFormat\\.float32\\.npy\n){2}"))
      << mapping;
  std::istringstream lines(mapping);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::filesystem::exists(folder / ("rank_0/Net/0/0/" + line.substr(0, line.find(',')))));
  }
  EXPECT_EQ(rows().size(), 2u);
}

TEST_F(SessionTensors, ExactlyTheLongestNameNeedsNoMapping) {
  const std::vector<float> values{1};
  for (const std::size_t over : {0, 1}) {
    std::filesystem::remove_all(folder / "rank_0");
    auto session = open(R"({"saved_data": "tensor"})");
    const std::string rest = "Op..0.0.1234567890123456.output.0.DefaultFormat.float32.npy";
    collect(session, {}, std::string(255 - rest.size() + over, 'n'), {tensor(values, Dtype::kFloat32)});
    session.close();
    EXPECT_EQ(files().size(), 1 + over);
  }
}

TEST_F(SessionTensors, ConstantsLieBesideTheIterations) {
  auto session = open(R"({"saved_data": "tensor", "iteration": "99"})");
  const std::vector<float> values{1};
  const auto one = tensor(values, Dtype::kFloat32);
  session.collect({.graph = 2, .constants = true}, session.operator_named("Parameter", "data-5"), {&one, 1});
  session.close();
  std::string data;
  EXPECT_EQ(only_file(data), "rank_0/Net/2/constants/Parameter.data-5.0.0.T.output.0.DefaultFormat.float32.npy");
}

TEST_F(SessionTensors, O2sLayoutAsAChoice) {
  options.layout = DumpLayout::kByStep;
  auto session = open(R"({"saved_data": "tensor"})");
  const std::vector<float> values{1};
  const auto one = tensor(values, Dtype::kFloat32);
  session.collect({.rank = 6, .device = 5, .graph = 2, .iteration = 3}, session.operator_named("Op", "x"), {&one, 1});
  session.close();
  std::string data;
  EXPECT_TRUE(test::matches(only_file(data), "3/[0-9]{14}/5/Net/2/3/Op\\.x\\..*\\.npy"));
}

TEST_F(SessionTensors, OneTimestampGivenTwiceTakesTwoFiles) {
  auto session = open(R"({"saved_data": "full"})");
  const std::vector<float> first{1, 2}, second{3, 4};
  for (const auto* values : {&first, &second}) {
    auto given = tensor(*values, Dtype::kFloat32);
    given.timestamp_us = 1000;
    collect(session, {}, "x", {given});
  }
  session.close();
  EXPECT_EQ(session.counters().file_count, 2u);
  EXPECT_EQ(files(), (std::vector<std::string>{"rank_0/Net/0/0/Op.x.0.0.1000.output.0.DefaultFormat.float32.npy",
                                               "rank_0/Net/0/0/Op.x.0.0.1001.output.0.DefaultFormat.float32.npy",
                                               "rank_0/Net/0/0/statistic.csv"}));
  const auto table = rows();
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[1].identity.timestamp_us, 1001u) << "the row and the file are one";
}

// Names of files tell tensors apart by it.
TEST_F(SessionTensors, NoTimestampComesTwice) {
  auto session = open();
  const std::vector<float> values{1};
  const std::vector<DumpTensor> many(200, tensor(values, Dtype::kFloat32));
  for (int i = 0; i < 10; ++i) collect(session, {}, "x", many);
  session.close();
  std::set<std::uint64_t> timestamps;
  for (const Row& row : rows()) timestamps.insert(row.identity.timestamp_us);
  EXPECT_EQ(timestamps.size(), 2000u);
}

TEST_F(SessionTensors, ComplexTensorsWithoutAFileAreNoFault) {
  auto session = open(R"({"saved_data": "statistic"})");
  const std::vector<float> parts{1, 2, 3, 4};
  for (int i = 0; i < 2; ++i) {
    auto given = tensor(parts, Dtype::kFloat32);
    given.stored = Stored::kComplex64;
    given.shape = {2};
    collect(session, {}, "x", {given});
  }
  EXPECT_TRUE(session.close());
  EXPECT_EQ(session.counters().complex_count, 2u);
  EXPECT_EQ(session.counters().lost_tensor_count, 0u);
  EXPECT_EQ(session.counters().tensor_count, 0u);
  EXPECT_TRUE(was_said("complex tensors have no statistics"));
}

}  // namespace session_tensors_test
}  // namespace tensorstat
