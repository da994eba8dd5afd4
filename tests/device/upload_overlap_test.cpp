// Uploads to a device with memory of its own: while one window is folded, the next ones are filled, so that nobody
// waits for a kernel before every window is in use. The values equal the host's. A layer holds the kernels, so that the
// test does not depend on time.
#include <gtest/gtest.h>

#include <stdexcept>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/cl_layer/watch.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace upload_overlap_test {

const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");
constexpr std::size_t kBudget = 4 << 20;  // three windows of 592 KiB, and the needs of their batches
constexpr std::size_t kPieceBytes = 500'000;

class UploadOverlap : public testing::Test {
 protected:
  UploadOverlap() {
    static_cast<void>(cl_layer());
    setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
    bytes_ = samples::of(Dtype::kFloat32)[0].make(Dtype::kFloat32, 3 * kPieceBytes / 4, random_);
    tensor_.address = bytes_.data();
    tensor_.element_count = bytes_.size() / 4;
  }
  ~UploadOverlap() override { unsetenv("TENSORSTAT_CL_ZERO_COPY"); }

  static std::vector<Value> values(const Measurements& measurements, std::size_t tensor) {
    return Statistics(measurements[tensor].statistics).values;
  }

  std::vector<Value> on_host() const {
    return values(*Meter().measure({&tensor_, 1}, {.categories = kCategories, .on = On::kHost}), 0);
  }

  samples::Random random_{samples::seed()};
  std::vector<std::byte> bytes_;
  Tensor tensor_;
  const Request request_{.categories = kCategories, .on = On::kDevice};
};

TEST_F(UploadOverlap, AStreamGoesOnWhileKernelsAreStillToRun) {
  Meter meter({.budget_bytes = kBudget});
  ASSERT_TRUE(meter.measure({&tensor_, 1}, request_));  // builds and probes the kernel
  cl_layer().kernels = 0;
  cl_layer().hold_kernels = true;
  const Watch watch;
  auto stream = meter.stream(Dtype::kFloat32, request_);
  ASSERT_TRUE(stream);
  std::vector<std::byte> piece(kPieceBytes);
  for (std::size_t offset = 0; offset < bytes_.size(); offset += piece.size()) {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), piece.size(), piece.begin());
    const Status appended = stream->append(piece);
    ASSERT_TRUE(appended) << appended.error().message;
    std::ranges::fill(piece, std::byte{0xff});  // the memory belongs to the caller again
  }
  EXPECT_GE(cl_layer().kernels, 2);
  EXPECT_FALSE(watch.barked());
  cl_layer().let_go();
  const auto result = stream->finish();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(values(*result, 0), on_host());
  EXPECT_LE(cl_layer().peak_buffer_bytes, static_cast<std::int64_t>(kBudget));
}

// Giving up a stream waits for its unfolded kernels, and leaves nothing behind.
TEST_F(UploadOverlap, AStreamMayBeGivenUp) {
  const auto references = cl_layer().references.load();
  {
    Meter meter({.budget_bytes = kBudget});
    auto stream = meter.stream(Dtype::kFloat32, request_);
    ASSERT_TRUE(stream);
    ASSERT_TRUE(stream->append(bytes_));
  }
  EXPECT_EQ(cl_layer().references, references);
  EXPECT_EQ(cl_layer().buffer_bytes, 0);
}

// Many tensors of all sizes, more than fit into the windows at once, in far fewer launches than tensors.
TEST_F(UploadOverlap, SmallTensorsTravelTogether) {
  Meter meter({.budget_bytes = kBudget});
  std::vector<Tensor> tensors;
  for (std::size_t offset = 0, count = 0; offset + count * 4 <= bytes_.size(); offset += count * 4) {
    tensors.push_back({.dtype = Dtype::kFloat32, .element_count = count, .address = bytes_.data() + offset});
    count = random_() % (tensors.size() % 100 == 0 ? 60'000 : 300);
  }
  ASSERT_GT(tensors.size(), 300u);
  ASSERT_TRUE(meter.measure({&tensor_, 1}, request_));
  cl_layer().kernels = 0;
  const auto result = meter.measure(tensors, request_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LT(cl_layer().kernels, 20);
  const auto expected = Meter().measure(tensors, {.categories = kCategories, .on = On::kHost});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(values(*result, i), values(*expected, i)) << "tensor " << i;
  }
}

}  // namespace upload_overlap_test
}  // namespace tensorstat
