// If the caller provides threads, they get all the work, and the library starts none. If the caller's executor fails,
// the call returns an error.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

namespace tensorstat {
namespace executor_test {

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(Executor, DoesAllTheWorkOnTheCallersThreads) {
  const std::vector<float> data(8 << 20, 1.5f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  std::size_t pieces = 0;
  const std::ptrdiff_t threads_before = thread_count();
  Meter meter({.executor = [&](std::size_t count, const std::function<void(std::size_t)>& work) {
    pieces += count;
    for (std::size_t i = count; i-- > 0;) work(i);
  }});
  const auto rows = meter.measure({&tensor, 1}, {{Category::kAvg}, Precision::kHigh, On::kHost});
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ("1.5", to_string((*rows)[0].statistics.values[0]));
  EXPECT_GT(pieces, 8u);
  const std::vector<Tensor> many(3, tensor);
  pieces = 0;
  ASSERT_TRUE(meter.measure(many, {{Category::kAvg, Category::kMd5}, Precision::kHigh, On::kHost}));
  EXPECT_GT(pieces, 0u);
  EXPECT_EQ(threads_before, thread_count());
}

TEST(Executor, ThatThrowsOrLeavesWorkUndoneIsAnError) {
  const std::vector<float> data(8 << 20, 1.5f);
  const std::vector<Tensor> tensors(3,
                                    {.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()});
  using Work = std::function<void(std::size_t)>;
  const std::pair<Executor, const char*> failing[] = {
      {[](std::size_t, const Work&) { throw std::runtime_error("the pool is closed"); }, "the pool is closed"},
      {[](std::size_t, const Work& work) { work(0), throw 7; }, "an exception of an unknown type"},
      {[](std::size_t, const Work& work) { work(0); }, "the executor returned when 1 of "},
  };
  for (const auto& [executor, words] : failing) {
    Meter meter({.threads = 4, .executor = executor});
    for (const Category category : {Category::kAvg, Category::kMd5}) {
      const auto rows = meter.measure(tensors, {{category}, Precision::kHigh, On::kHost});
      ASSERT_FALSE(rows) << words;
      EXPECT_NE(rows.error().message.find(words), std::string::npos) << rows.error().message;
    }
  }
}

// A call whose executor does not answer yet holds up no small tensor of another caller, nor a small pair.
TEST(Executor, ThatIsBusyHoldsUpNoSmallTensor) {
  const std::vector<float> data(8 << 20, 1.5f);
  const Tensor large{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  const Tensor small{.dtype = Dtype::kFloat32, .element_count = 256, .address = data.data()};
  const TensorPair pair{small, small};
  std::promise<void> entered, released;
  Meter meter({.executor = [&](std::size_t count, const std::function<void(std::size_t)>& work) {
    entered.set_value();
    released.get_future().wait();
    for (std::size_t i = 0; i < count; ++i) work(i);
  }});
  const Request request{{Category::kAvg, Category::kL2norm, quantile(50'000)}, Precision::kHigh, On::kHost};
  auto busy = std::async(std::launch::async, [&] { return bool(meter.measure({&large, 1}, request)); });
  entered.get_future().wait();
  EXPECT_TRUE(meter.measure({&small, 1}, request));
  EXPECT_TRUE(meter.fold({&small, 1}, request));
  EXPECT_TRUE(meter.compare({&pair, 1}, {.on = On::kHost}));
  EXPECT_EQ(std::future_status::timeout, busy.wait_for(std::chrono::seconds(0)));
  released.set_value();
  EXPECT_TRUE(busy.get());
}

}  // namespace executor_test
}  // namespace tensorstat
