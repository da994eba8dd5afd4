// Several threads may read one result and one partial at the same time. They see the same values at the same addresses.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <cmath>
#include <thread>
#include <vector>

namespace c_const_test {

struct Fixture {
  tensorstat_meter* meter = nullptr;
  std::vector<float> numbers = {0, 1, -1.5f, 0.75f, 3, 1e-40f, INFINITY, NAN};
  tensorstat_request request = TENSORSTAT_REQUEST;
  tensorstat_tensor tensor = TENSORSTAT_TENSOR;

  explicit Fixture(const char* statistics) {
    EXPECT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
    request.statistics = statistics;
    tensor.dtype = tensorstat_dtype_named("float32");
    tensor.element_count = numbers.size();
    tensor.address = numbers.data();
  }
  ~Fixture() { tensorstat_meter_close(meter); }
};

template <typename Work>
void in_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& each : threads) each.join();
}

TEST(CConst, AResultIsReadByThreads) {
  const Fixture fixture("count,nan count,exponents");
  const std::vector<tensorstat_tensor> tensors(500, fixture.tensor);
  tensorstat_result* result = nullptr;
  ASSERT_EQ(tensorstat_measure(fixture.meter, tensors.data(), tensors.size(), &fixture.request, &result), TENSORSTAT_OK)
      << tensorstat_last_error();
  in_threads([&] {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const tensorstat_value* const values = tensorstat_result_values(result, i);
      EXPECT_EQ(values[0].is.whole, fixture.numbers.size());
      EXPECT_EQ(values[1].is.whole, 1u);
      EXPECT_EQ(tensorstat_exponents_count(&values[2], TENSORSTAT_SUBNORMAL), 1u);
      EXPECT_EQ(values, tensorstat_result_values(result, i));
    }
  });
  tensorstat_result_free(result);
}

TEST(CConst, APartialIsReadByThreads) {
  const Fixture fixture("exponents,count");
  tensorstat_partial* partial = nullptr;
  ASSERT_EQ(tensorstat_fold(fixture.meter, &fixture.tensor, 1, &fixture.request, &partial), TENSORSTAT_OK)
      << tensorstat_last_error();
  const int32_t exponents = tensorstat_statistic_named("exponents");
  in_threads([&] {
    tensorstat_value first, again;
    ASSERT_EQ(tensorstat_partial_finish(partial, exponents, &first), TENSORSTAT_OK);
    ASSERT_EQ(tensorstat_partial_finish(partial, exponents, &again), TENSORSTAT_OK);
    EXPECT_EQ(tensorstat_exponents_count(&first, TENSORSTAT_INF), 1u);
    EXPECT_EQ(tensorstat_exponents_count(&again, TENSORSTAT_INF), 1u);
  });
  tensorstat_value before, after;
  ASSERT_EQ(tensorstat_partial_finish(partial, exponents, &before), TENSORSTAT_OK);
  tensorstat_partial* other = nullptr;
  ASSERT_EQ(tensorstat_fold(fixture.meter, &fixture.tensor, 1, &fixture.request, &other), TENSORSTAT_OK);
  ASSERT_EQ(tensorstat_partial_merge(partial, other), TENSORSTAT_OK);
  EXPECT_EQ(tensorstat_exponents_count(&before, TENSORSTAT_INF), 1u) << "as it was, until it is asked for again";
  ASSERT_EQ(tensorstat_partial_finish(partial, exponents, &after), TENSORSTAT_OK);
  EXPECT_EQ(tensorstat_exponents_count(&after, TENSORSTAT_INF), 2u);
  tensorstat_partial_free(other);
  tensorstat_partial_free(partial);
}

TEST(CConst, APartialSaysWhatItKeeps) {
  const Fixture fixture("max");
  tensorstat_partial* partial = nullptr;
  ASSERT_EQ(tensorstat_fold(fixture.meter, &fixture.tensor, 1, &fixture.request, &partial), TENSORSTAT_OK)
      << tensorstat_last_error();
  for (const char* name : {"max", "min", "count", "nan count"}) {
    EXPECT_EQ(tensorstat_partial_keeps(partial, tensorstat_statistic_named(name)), 1) << name;
  }
  for (const char* name : {"var", "argmax", "exponents", "p50", "crc32", "md5"}) {
    EXPECT_EQ(tensorstat_partial_keeps(partial, tensorstat_statistic_named(name)), 0) << name;
  }
  EXPECT_EQ(tensorstat_partial_keeps(partial, -1), 0);
  EXPECT_EQ(tensorstat_partial_keeps(nullptr, 0), 0);
  tensorstat_partial_free(partial);
}

}  // namespace c_const_test
