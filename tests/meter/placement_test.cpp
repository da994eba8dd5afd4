// The engine of a statistic depends on the request, on the tensor's memory and on the device. The placement gives the
// reason.
#include "stats/core/meter/placement.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tensorstat {
namespace placement_test {

class FakeHost final : public Engine {
 public:
  std::string_view name() const override { return "host"; }
  std::string refusal(const Tensor& tensor, Precision) const override {
    return tensor.where == Where::kClBuffer ? "out of reach" : "";
  }
  Status fold(std::span<const Job>) override { return {}; }
};

class FakeDevice final : public DeviceEngine {
 public:
  FakeDevice(bool shares, std::string refusal, bool is_slower = false)
      : shares_(shares), is_slower_(is_slower), refusal_(std::move(refusal)) {}
  std::string_view name() const override { return "opencl"; }
  std::string description() const override { return "fake"; }
  std::string refusal(const Tensor&, Precision, KnownBuffer&) const override { return refusal_; }
  bool shares_host_memory() const override { return shares_; }
  bool keeps_shared_memory() const override { return false; }
  bool is_slower_than_host() const override { return is_slower_; }
  Status check(const Tensor&, KnownBuffer&) const override { return {}; }
  Result<std::uint64_t> fold_counting(std::span<const Job>) override { return std::uint64_t{0}; }
  std::string refusal(const TensorPair&, KnownBuffers&) const override { return refusal_; }
  Result<std::uint64_t> compare(std::span<const PairJob>) override { return std::uint64_t{0}; }
  Result<std::unique_ptr<DeviceStream>> stream(Partial&) override { return Error{Code::kDevice, "never asked for"}; }
  Result<std::unique_ptr<DeviceBoard>> board(const Wanted&) override { return Error{Code::kDevice, "never asked for"}; }
  Status read(const Tensor&, std::uint64_t, std::span<std::byte>) override { return {}; }
  void refuse(std::string why) { refusal_ = std::move(why); }

 private:
  const bool shares_, is_slower_;
  std::string refusal_;
};

// Places a tensor and counts the searches for a device.
class PlacementOf : public testing::Test {
 protected:
  static constexpr std::uint64_t kSmall = kWorthALaunchBytes - 1, kLarge = kWorthALaunchBytes;

  Result<Placement> placed(On on, Where where, std::uint64_t request_bytes) {
    const Tensor tensor{.element_count = 10, .address = this, .where = where};
    const DeviceSight sight{[this](const Errand&) {
                              ++searches_;
                              return device_ ? &*device_ : nullptr;
                            },
                            [] { return std::string("no driver found"); },
                            [this]() -> const std::string& { return stays_; },
                            [this](const Tensor&, const Wanted&) { return gpu_refusal_; },
                            {},
                            [this] { return keeps_; }};
    const Request request{.categories = categories_, .on = on};
    Placements placements(request, request_bytes, host_, sight);
    const auto placed = placements.place(tensor);
    if (!placed) return placed.error();
    return placements.all()[*placed];
  }

  void expect(bool on_device, std::string_view words, On on, Where where, std::uint64_t request_bytes) {
    const auto placement = placed(on, where, request_bytes);
    ASSERT_TRUE(placement) << placement.error().message;
    EXPECT_EQ(on_device, placement->on_device) << placement->reason.text();
    EXPECT_NE(std::string::npos, placement->reason.text().find(words))
        << placement->reason.text() << "\n  should say: " << words;
  }

  FakeHost host_;
  std::optional<FakeDevice> device_;
  Categories categories_;
  std::string stays_;  // what is known about the driver before the search for a device
  std::string gpu_refusal_;
  bool keeps_ = false;  // shared virtual memory, of which the host may see old values
  int searches_ = 0;
};

TEST_F(PlacementOf, TheHostWhereItWasAskedForNeverLooksForADevice) {
  for (const std::uint64_t bytes : {kSmall, kLarge}) expect(false, "asked for", On::kHost, Where::kHost, bytes);
  expect(false, "read back", On::kHost, Where::kClBuffer, kLarge);
  EXPECT_EQ(0, searches_);
}

TEST_F(PlacementOf, LittleInHostMemoryStaysThereUnseenByADevice) {
  device_.emplace(true, "");
  expect(false, "less than a launch is worth", On::kAuto, Where::kHost, kSmall);
  expect(false, "less than a launch is worth", On::kAuto, Where::kSharedMemory, kSmall);
  EXPECT_EQ(0, searches_);
}

TEST_F(PlacementOf, MuchInHostMemoryGoesToADeviceThatSharesIt) {
  device_.emplace(true, "");
  expect(true, "nothing is copied", On::kAuto, Where::kHost, kLarge);
  device_.emplace(false, "");
  expect(false, "faster than uploading", On::kAuto, Where::kHost, kLarge);
}

TEST_F(PlacementOf, SharedMemoryStaysWhereTheHostMaySeeOldValues) {
  device_.emplace(false, "");
  keeps_ = true;
  for (const std::uint64_t bytes : {kSmall, kLarge}) {
    expect(true, "in its memory", On::kAuto, Where::kSharedMemory, bytes);
    expect(false, "asked for", On::kHost, Where::kSharedMemory, bytes);
  }
  expect(false, "faster than uploading", On::kAuto, Where::kHost, kLarge);
  device_.emplace(false, "too odd");
  const auto refused = placed(On::kAuto, Where::kSharedMemory, kSmall);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("too odd"), std::string::npos) << refused.error().message;
}

// If the device is the CPU, it gets only tensors in device memory, and requests that insist on it.
TEST_F(PlacementOf, MuchInHostMemoryStaysThereWhereTheDeviceIsTheCpu) {
  device_.emplace(true, "", true);
  expect(false, "the OpenCL device is this CPU", On::kAuto, Where::kHost, kLarge);
  expect(true, "nothing is copied", On::kAuto, Where::kSharedMemory, kLarge);
  expect(true, "in its memory", On::kAuto, Where::kClBuffer, kLarge);
  expect(true, "asked for", On::kDevice, Where::kHost, kLarge);
}

TEST_F(PlacementOf, NoDeviceIsLookedForWhereTheDriverIsKnownToBeNoHelp) {
  device_.emplace(true, "");
  stays_ = "the driver is slow";
  expect(false, "the driver is slow", On::kAuto, Where::kHost, kLarge);
  EXPECT_EQ(0, searches_);
  expect(true, "nothing is copied", On::kAuto, Where::kSharedMemory, kLarge);
  expect(true, "in its memory", On::kAuto, Where::kClBuffer, kLarge);
  expect(true, "asked for", On::kDevice, Where::kHost, kLarge);
  EXPECT_EQ(3, searches_);
}

TEST_F(PlacementOf, DeviceMemoryIsReadWhereItIs) {
  device_.emplace(false, "");
  for (const std::uint64_t bytes : {kSmall, kLarge}) expect(true, "in its memory", On::kAuto, Where::kClBuffer, bytes);
}

TEST_F(PlacementOf, QuantilesAreAsAllElse) {
  device_.emplace(true, "");
  categories_ = {Category::kMax, quantile(50'000)};
  expect(true, "in its memory", On::kAuto, Where::kClBuffer, kLarge);
  expect(true, "nothing is copied", On::kAuto, Where::kSharedMemory, kLarge);
  expect(true, "asked for", On::kDevice, Where::kClBuffer, kLarge);
}

TEST_F(PlacementOf, WhatTheDeviceRefusesGoesToTheHostWithItsReason) {
  device_.emplace(true, "too odd");
  expect(false, "too odd", On::kAuto, Where::kHost, kLarge);
  expect(false, "read back from the device: too odd", On::kAuto, Where::kClBuffer, kSmall);
}

TEST_F(PlacementOf, NoDeviceIsSaid) {
  expect(false, "no driver found", On::kAuto, Where::kHost, kLarge);
  EXPECT_EQ(1, searches_);
}

// OpenCL's device is never looked for.
TEST_F(PlacementOf, TensorsInAGpusMemoryAsksTheGpu) {
  for (const std::uint64_t bytes : {kSmall, kLarge}) {
    gpu_refusal_ = "";
    expect(true, "the tensor is in its memory", On::kAuto, Where::kCuda, bytes);
    expect(true, "asked for", On::kDevice, Where::kCuda, bytes);
    expect(false, "in CUDA memory, which the host reads in windows: asked for", On::kHost, Where::kCuda, bytes);
    gpu_refusal_ = "too odd";
    expect(false, "in ROCm memory, which the host reads in windows: too odd", On::kAuto, Where::kRocm, bytes);
    EXPECT_FALSE(placed(On::kDevice, Where::kCuda, bytes));
  }
  EXPECT_EQ(0, searches_);
}

// For any number of tensors the reason is stored once. A refusal belongs to its tensor alone.
TEST_F(PlacementOf, LikeTensorsIsShared) {
  FakeDevice device(true, "");
  const Request request{};
  Placements placements(request, kLarge, host_,
                        {[&](const Errand&) { return &device; }, [] { return std::string(); },
                         [this]() -> const std::string& { return stays_; }});
  const Tensor here{.element_count = 10, .address = this},
      there{.element_count = 10, .address = this, .where = Where::kClBuffer};
  std::vector<std::uint32_t> indices;
  for (const bool refuses : {false, true}) {
    device.refuse(refuses ? "too odd" : "");
    for (int i = 0; i < 3; ++i) {
      for (const Tensor& tensor : {here, there}) {
        const auto placed = placements.place(tensor);
        ASSERT_TRUE(placed);
        indices.push_back(*placed);
      }
    }
  }
  EXPECT_EQ((std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}), indices);
  EXPECT_TRUE(placements.all()[0].on_device);
  EXPECT_FALSE(placements.all()[2].on_device);
}

TEST_F(PlacementOf, InsistingOnADeviceMeansItOrAnError) {
  device_.emplace(false, "");
  for (const std::uint64_t bytes : {kSmall, kLarge}) expect(true, "asked for", On::kDevice, Where::kHost, bytes);
  device_.emplace(true, "too odd");
  auto refused = placed(On::kDevice, Where::kHost, kLarge);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kDevice, refused.error().code);
  EXPECT_NE(std::string::npos, refused.error().message.find("too odd"));
  device_.reset();
  refused = placed(On::kDevice, Where::kHost, kLarge);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kDevice, refused.error().code);
  EXPECT_NE(std::string::npos, refused.error().message.find("no driver found"));
}

}  // namespace placement_test
}  // namespace tensorstat
