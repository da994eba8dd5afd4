// Parts of a tensor are folded by different ranks, devices and streams, sent as bytes, and merged in any order. The
// result has the bits of the whole tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace fold_test {

using Bytes = std::vector<std::byte>;

const Categories kMergeable = [] {
  Categories categories = every_category();
  std::erase_if(categories, is_digest);
  return categories;
}();

bool same(const Value& a, const Value& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return a == b || (x != nullptr && y != nullptr && *x != *x && *y != *y);
}

// The ways to fold a part. Each returns the partial's bytes, as for sending.
class Ranks {
 public:
  Ranks() {
    for (const unsigned threads : {1u, 3u})
      meters_.push_back(std::make_unique<Meter>(MeterOptions{.threads = threads}));
    if (!expects_device()) return;
    auto device = cl_engine::choose_device({});
    EXPECT_TRUE(device) << (device ? "" : device.error().message);
    if (!device) return;
    context_ = cl::Context(device->device);
    queue_ = cl::CommandQueue(context_, device->device);
    auto on_queue = DeviceMeter::on(queue_());
    EXPECT_TRUE(on_queue) << (on_queue ? "" : on_queue.error().message);
    if (on_queue) device_meter_ = std::make_unique<DeviceMeter>(*std::move(on_queue));
  }

  // A Meter with one thread, one with three, a stream; on the device a Meter, a stream, a ticket.
  std::size_t count() const { return device_meter_ ? 6 : 3; }

  Result<Bytes> fold(std::size_t rank, const Tensor& part, Precision precision) {
    const Request request{kMergeable, precision, rank < 3 ? On::kHost : On::kDevice};
    if (rank == 5) {
      auto ticket = device_meter_->submit({&part, 1}, request);
      if (!ticket) return ticket.error();
      return first(ticket->collect_partials());
    }
    if (rank % 3 == 2 || rank == 4) return streamed(part, request);
    return first(meters_[rank % 2]->fold({&part, 1}, request));
  }

 private:
  static Result<Bytes> first(const Result<std::vector<Partial>>& partials) {
    if (!partials) return partials.error();
    EXPECT_EQ(partials->size(), 1u);
    return partials->front().serialize();
  }

  Result<Bytes> streamed(const Tensor& part, const Request& request) {
    auto stream = meters_[0]->stream(part.dtype, request);
    if (!stream) return stream.error();
    const std::span bytes(static_cast<const std::byte*>(part.address), part.bytes());
    const std::size_t most = 2048 * size_bytes(part.dtype);
    for (std::size_t offset = 0; offset < bytes.size(); offset += most) {
      if (Status status = stream->append(bytes.subspan(offset, std::min(most, bytes.size() - offset))); !status)
        return status.error();
    }
    const auto partial = stream->finish_partial();
    if (!partial) return partial.error();
    return partial->serialize();
  }

  std::vector<std::unique_ptr<Meter>> meters_;
  cl::Context context_;
  cl::CommandQueue queue_;
  std::unique_ptr<DeviceMeter> device_meter_;
};

class Fold : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(In, Fold, testing::Values(Precision::kHigh, Precision::kLow),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Fold, OfPartsGivesTheBitsOfTheWhole) {
  Ranks ranks;
  samples::Random random(samples::seed());
  // pocl takes long to compile kernels of `low`: the device runs them for two floats only.
  for (const Dtype dtype : samples::all_dtypes()) {
    const bool on_device = GetParam() == Precision::kHigh ? samples::is_built_on_a_device(dtype)
                                                          : dtype == Dtype::kFloat32 || dtype == Dtype::kBfloat16;
    for (const samples::Distribution& distribution : samples::of(dtype)) {
      const std::size_t count = 1 + random() % 30'000;
      const Bytes bytes = distribution.make(dtype, count, random);
      const Tensor whole{.dtype = dtype, .element_count = count, .address = bytes.data()};
      std::vector<std::pair<std::size_t, Bytes>> sent;  // first: the part's position
      const std::size_t tile = GetParam() == Precision::kLow ? 1024 : 1;
      for (std::size_t first = 0; first < count;) {
        const std::size_t size = std::min(count - first, (1 + random() % (9000 / tile)) * tile);
        const Tensor part{.dtype = dtype, .element_count = size, .address = bytes.data() + first * size_bytes(dtype)};
        auto folded = ranks.fold(random() % (on_device ? ranks.count() : 3), part, GetParam());
        ASSERT_TRUE(folded) << name(dtype) << ": " << folded.error().message;
        sent.emplace_back(first, *std::move(folded));
        first += size;
      }
      std::ranges::shuffle(sent, random);
      Partial all(dtype, GetParam(), needs(kMergeable, GetParam()));
      for (const auto& [first, bytes_of_part] : sent) {
        auto arrived = Partial::parse(bytes_of_part);
        ASSERT_TRUE(arrived) << arrived.error().message;
        ASSERT_TRUE(arrived->move_to(first));
        ASSERT_TRUE(all.merge(*arrived));
      }
      const auto measured = Meter().measure({&whole, 1}, {kMergeable, GetParam(), On::kHost});
      ASSERT_TRUE(measured);
      for (std::size_t k = 0; k < kMergeable.size(); ++k) {
        ASSERT_TRUE(same(measured->front().statistics.values[k], all.finish(kMergeable[k])))
            << name(dtype) << ", " << distribution.name << ", " << count << " elements in " << sent.size() << " parts, "
            << name(kMergeable[k]) << ": " << to_string(measured->front().statistics.values[k]) << " and "
            << to_string(all.finish(kMergeable[k])) << ", seed " << samples::seed();
      }
    }
  }
}

// Partials merge if their requests have the same needs, and only then.
TEST(FoldOf, OtherCategoriesDoesNotMerge) {
  const std::vector<float> data(10, 1.5f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  Meter meter;
  auto sums = meter.fold({&tensor, 1}, {{Category::kAvg}}),
       same_needs = meter.fold({&tensor, 1}, {{Category::kCount, Category::kAvg}}),
       extrema = meter.fold({&tensor, 1}, {{Category::kMax}});
  ASSERT_TRUE(sums && same_needs && extrema);
  EXPECT_TRUE(sums->front().merge(same_needs->front()));
  EXPECT_EQ(sums->front().finish(Category::kCount), Value(std::uint64_t{20}));
  EXPECT_FALSE(sums->front().merge(extrema->front()));
  EXPECT_EQ(sums->front().finish(Category::kMax), Value()) << "what was not kept";
}

TEST(FoldOf, ManyTensorsKeepsTheirOrder) {
  std::vector<std::vector<float>> data;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < 300; ++i) {
    data.emplace_back(i % 7 == 0 ? 0 : i * 10, static_cast<float>(i));
    tensors.push_back({.dtype = Dtype::kFloat32, .element_count = data[i].size(), .address = data[i].data()});
  }
  for (const On on : expects_device() ? std::vector{On::kAuto, On::kHost, On::kDevice} : std::vector{On::kHost}) {
    const auto partials = Meter({.threads = 3}).fold(tensors, {{Category::kAvg}, Precision::kHigh, on});
    ASSERT_TRUE(partials) << partials.error().message;
    ASSERT_EQ(partials->size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ((*partials)[i].count(), tensors[i].element_count);
      EXPECT_EQ((*partials)[i].finish(Category::kAvg), i % 7 == 0 ? Value() : Value(static_cast<double>(i)));
    }
  }
}

TEST(FoldOf, NothingIsNoError) {
  const auto none = Meter().fold({}, {{Category::kAvg}});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

}  // namespace fold_test
}  // namespace tensorstat
