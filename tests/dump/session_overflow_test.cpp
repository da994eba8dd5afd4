// With op_debug_mode 3, an operator is dumped if and only if one of its float outputs overflows.
#include <cmath>
#include <limits>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_overflow_test {

constexpr float kInf = std::numeric_limits<float>::infinity();

class SessionOverflow : public SessionTest {
 protected:
  const std::vector<float> fine{1, 2, 3}, nan{1, NAN, 3}, positive{kInf}, negative{0, -kInf};
  const std::vector<std::uint16_t> half_inf{0x7c00}, half_largest{0x7bff}, brain_nan{0x7fc1};
  const std::vector<double> double_inf{std::numeric_limits<double>::infinity()};
  const std::vector<std::int32_t> integers{1};

  std::vector<std::string> dumped_names() {
    std::vector<std::string> names;
    if (!files().empty()) {
      for (const Row& row : rows()) names.push_back(row.identity.op_name + "." + row.identity.io);
    }
    return names;
  }
};

TEST_F(SessionOverflow, LooksAtFloatOutputsOnly) {
  options.dialect = Dialect::kOurs;
  auto session = open(R"({"op_debug_mode": 3})");
  const auto input = [](auto& values, Dtype dtype) { return tensor(values, dtype, Io::kInput); };
  const auto f32 = Dtype::kFloat32;
  collect(session, {}, "fine", {input(fine, f32), tensor(fine, f32)});
  collect(session, {}, "input-only", {input(nan, f32), tensor(fine, f32)});
  collect(session, {}, "nan", {input(fine, f32), tensor(nan, f32)});
  collect(session, {}, "inf", {tensor(positive, f32)});
  collect(session, {}, "negative", {tensor(negative, f32)});
  collect(session, {}, "half", {tensor(half_inf, Dtype::kFloat16)});
  collect(session, {}, "half-largest", {tensor(half_largest, Dtype::kFloat16)});
  collect(session, {}, "bfloat16", {tensor(brain_nan, Dtype::kBfloat16)});
  collect(session, {}, "double", {tensor(double_inf, Dtype::kFloat64)});
  collect(session, {}, "none", {tensor(integers, Dtype::kInt32)});
  collect(session, {}, "second", {tensor(integers, Dtype::kInt32), tensor(fine, f32), tensor(nan, f32)});
  session.close();
  EXPECT_EQ(dumped_names(),
            (std::vector<std::string>{"nan.input", "nan.output", "inf.output", "negative.output", "half.output",
                                      "bfloat16.output", "second.output", "second.output", "second.output"}));
  EXPECT_EQ(session.counters().overflow_count, 6u);
}

TEST_F(SessionOverflow, TheVerdictIsOnTheWholeTensorAndTheSampleIsDumped) {
  options.dialect = Dialect::kOurs;
  const std::vector<float> late{1, 1, 1, kInf};
  const Strides every_other{{3}, {2 * sizeof(float)}};
  const std::vector<float> spread{5, NAN, 6, NAN, kInf, NAN};
  auto strided = tensor(spread, Dtype::kFloat32);
  strided.tensor.element_count = 3;
  strided.tensor.strides = &every_other;
  strided.shape = {3};
  for (const char* enable : {"true", "false"}) {
    std::filesystem::remove_all(folder / "rank_0");
    auto session = open(R"({"op_debug_mode": 3, "saved_data": "full"})",
                        R"({"sample_mode": 1, "sample_num": 2, "enable": )" + std::string(enable) + "}");
    collect(session, {}, "late", {tensor(late, Dtype::kFloat32, Io::kInput), tensor(late, Dtype::kFloat32)});
    collect(session, {}, "strided", {strided});
    collect(session, {}, "fine", {tensor(fine, Dtype::kFloat32)});
    session.close();
    EXPECT_EQ(dumped_names(), (std::vector<std::string>{"late.input", "late.output", "strided.output"}));
    for (const Row& row : rows()) {
      EXPECT_EQ(row.shape, Shape{2});
      EXPECT_EQ(row.data_size_bytes, 8u);
    }
    EXPECT_EQ(rows()[1].statistics.values[0], Value{1.0});
    EXPECT_EQ(rows()[2].statistics.values[0], Value{6.0});
    EXPECT_EQ(session.counters().file_count, 3u);
  }
}

TEST_F(SessionOverflow, OverflowNumberCountsOperators) {
  for (const int limit : {1, 3, 0}) {
    std::filesystem::remove_all(folder / "rank_0");
    auto session =
        open(R"({"op_debug_mode": 3, "saved_data": "full", "overflow_number": )" + std::to_string(limit) + "}");
    for (int i = 0; i < 10; ++i) {
      collect(session, {}, "op" + std::to_string(i),
              {tensor(i % 2 == 0 ? fine : nan, Dtype::kFloat32, Io::kInput),
               tensor(i % 2 == 0 ? fine : nan, Dtype::kFloat32)});
    }
    session.flush();
    EXPECT_EQ(session.wants({}, session.operator_named("Op", "op11")), limit == 0);
    session.close();
    const int operators = limit == 0 ? 5 : limit;
    EXPECT_EQ(dumped_names().size(), static_cast<std::size_t>(2 * operators));
    EXPECT_EQ(files().size(), static_cast<std::size_t>(2 * operators + 1));
  }
}

TEST_F(SessionOverflow, IterationIsHonouredAndKernelsAreNot) {
  auto session = open(R"({"op_debug_mode": 3, "dump_mode": 1, "kernels": ["conv"], "iteration": "0"})");
  collect(session, {}, "Default/Add-op1", {tensor(nan, Dtype::kFloat32)});
  collect(session, {.iteration = 1}, "Default/Add-op1", {tensor(nan, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(files(), std::vector<std::string>{"rank_0/Net/0/0/statistic.csv"});
}

}  // namespace session_overflow_test
}  // namespace tensorstat
