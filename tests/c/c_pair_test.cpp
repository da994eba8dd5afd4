// Through C: comparing two tensors, also in parts that are merged, gives the same values as the C++ functions.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <cstring>
#include <string>
#include <vector>

namespace c_pair_test {

double real(const tensorstat_pair* pair, const char* statistic) {
  tensorstat_value value;
  EXPECT_EQ(tensorstat_pair_finish(pair, tensorstat_pair_statistic_named(statistic), &value), TENSORSTAT_OK);
  EXPECT_EQ(value.kind, TENSORSTAT_REAL) << statistic;
  return value.is.real;
}

std::vector<char> bytes_of(const tensorstat_pair* pair) {
  size_t size = 0;
  EXPECT_EQ(tensorstat_pair_serialize(pair, nullptr, 0, &size), TENSORSTAT_OK);
  std::vector<char> bytes(size);
  EXPECT_EQ(tensorstat_pair_serialize(pair, bytes.data(), size, &size), TENSORSTAT_OK);
  return bytes;
}

TEST(CPair, ComparesInPartsThatMerge) {
  tensorstat_meter* meter = nullptr;
  ASSERT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
  const float a[] = {3, 0, 4, 7}, b[] = {3, 0, 0, 7};
  tensorstat_tensor of_a = TENSORSTAT_TENSOR, of_b = TENSORSTAT_TENSOR;
  of_a.dtype = of_b.dtype = tensorstat_dtype_named("float32");
  of_a.element_count = of_b.element_count = 4;
  of_a.address = a;
  of_b.address = b;
  tensorstat_pair *whole = nullptr, *parts[2] = {};
  ASSERT_EQ(tensorstat_compare(meter, &of_a, &of_b, 1, nullptr, &whole), TENSORSTAT_OK);
  EXPECT_EQ(real(whole, "euclidean"), 4);
  EXPECT_EQ(real(whole, "max-abs-diff"), 4);
  EXPECT_EQ(real(whole, "mean_abs_diff"), 1);

  tensorstat_pair_request request = TENSORSTAT_PAIR_REQUEST;
  of_a.element_count = of_b.element_count = 2;
  ASSERT_EQ(tensorstat_compare(meter, &of_a, &of_b, 1, &request, &parts[0]), TENSORSTAT_OK);
  of_a.address = a + 2;
  of_b.address = b + 2;
  request.first_index = 2;
  ASSERT_EQ(tensorstat_compare(meter, &of_a, &of_b, 1, &request, &parts[1]), TENSORSTAT_OK);
  const std::vector<char> sent = bytes_of(parts[1]);
  tensorstat_pair* received = nullptr;
  ASSERT_EQ(tensorstat_pair_parse(sent.data(), sent.size(), &received), TENSORSTAT_OK);
  ASSERT_EQ(tensorstat_pair_merge(parts[0], received), TENSORSTAT_OK);
  EXPECT_EQ(bytes_of(parts[0]), bytes_of(whole));

  request.scale = 2;
  tensorstat_pair* none = nullptr;
  EXPECT_EQ(tensorstat_compare(meter, &of_a, &of_b, 1, &request, &none), TENSORSTAT_INVALID);
  EXPECT_NE(std::string(tensorstat_last_error()).find("scale is 2"), std::string::npos);
  EXPECT_EQ(none, nullptr);
  for (tensorstat_pair* each : {whole, parts[0], parts[1], received}) tensorstat_pair_free(each);
  tensorstat_meter_close(meter);
}

TEST(CPair, NamesItsStatistics) {
  int32_t count = 0;
  for (; tensorstat_pair_statistic_name(count) != nullptr; ++count) {
    EXPECT_EQ(tensorstat_pair_statistic_named(tensorstat_pair_statistic_name(count)), count);
  }
  EXPECT_GT(count, 20);
  EXPECT_EQ(tensorstat_pair_statistic_named("l2norm"), -1);
}

}  // namespace c_pair_test
