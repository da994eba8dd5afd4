// A strided tensor has the statistics and the digests of its elements copied into C order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace strided_test {

struct View {
  Strides strides;
  std::int64_t first_byte;
};

class Strided : public testing::TestWithParam<Dtype> {
 protected:
  Strided() : random_(20261120), bytes_(1 << 20) {
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random_());
  }

  // The view's elements one after another, by its definition.
  std::vector<std::byte> packed(const View& view) const {
    std::vector<std::byte> result;
    std::vector<std::uint64_t> index(view.strides.shape.size(), 0);
    const std::uint64_t count = *element_count(view.strides.shape);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::int64_t offset = view.first_byte;
      for (std::size_t d = 0; d < index.size(); ++d)
        offset += static_cast<std::int64_t>(index[d]) * view.strides.bytes[d];
      const auto from = bytes_.begin() + offset;
      result.insert(result.end(), from, from + size_bytes(GetParam()));
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < view.strides.shape[d]) break;
        index[d] = 0;
      }
    }
    return result;
  }

  void expect_as_packed(const View& view) {
    const std::vector<std::byte> copy = packed(view);
    const std::uint64_t count = copy.size() / size_bytes(GetParam());
    const Tensor tensors[] = {{.dtype = GetParam(), .element_count = count, .address = copy.data()},
                              {.dtype = GetParam(),
                               .element_count = count,
                               .address = bytes_.data(),
                               .offset_bytes = static_cast<std::uint64_t>(view.first_byte),
                               .strides = &view.strides}};
    for (const Categories& categories : {every_category(), without_order()}) {
      for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
        const auto rows = meter_.measure(tensors, {categories, precision, On::kAuto});
        ASSERT_TRUE(rows) << rows.error().message;
        for (std::size_t i = 0; i < categories.size(); ++i) {
          EXPECT_EQ(to_string((*rows)[0].statistics.values[i]), to_string((*rows)[1].statistics.values[i]))
              << name(categories[i]) << " of " << categories.size() << ", " << name(precision);
        }
      }
    }
  }

  // Statistics that do not depend on the order of the elements, which may then be read in memory order.
  static Categories without_order() { return *categories_from("max,min,avg,l2norm,nan count,count,exponents,l1norm"); }

  std::mt19937_64 random_;
  std::vector<std::byte> bytes_;
  Meter meter_;
};

TEST_P(Strided, TransposedSlicedReversedAndBroadcast) {
  const auto size = static_cast<std::int64_t>(size_bytes(GetParam()));
  expect_as_packed({{{37, 211}, {size, 37 * size}}, 0});                        // transposed
  expect_as_packed({{{1 << 16}, {2 * size}}, size});                            // every other
  expect_as_packed({{{100, 3}, {-4 * size, size}}, 99 * 4 * size});             // rows from the last
  expect_as_packed({{{5, 1000}, {0, size}}, 0});                                // one row, five times
  expect_as_packed({{{7, 1, 11, 13}, {11 * size, 5, size, 77 * size}}, size});  // in another order, without a gap
  expect_as_packed({{{7, 11, 13}, {11 * size, size, 78 * size}}, size});        // and with one
  expect_as_packed({{{7, 11}, {size, size}}, size});                            // overlapping
  expect_as_packed({{{300, 400}, {size, 300 * size}}, 0});                      // transposed, and not in one piece
  expect_as_packed({{{7, 11, 13}, {size, 1001 * size, 7 * size}}, 3 * size});   // no order at all
  expect_as_packed({{{}, {}}, 5 * size});                                       // a scalar
  expect_as_packed({{{3, 0, 2}, {size, size, size}}, 0});                       // empty
  expect_as_packed({{{300, 17}, {3 * size + 1, size}}, 1});                     // misaligned
}

INSTANTIATE_TEST_SUITE_P(Dtype, Strided, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(StridedTensor, IsRefusedWhereADeviceIsInsistedOn) {
  const float value[] = {1, 2};
  const Strides strides{{1}, {8}};
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = 1, .address = value, .strides = &strides};
  Meter meter;
  const auto rows = meter.measure({&tensor, 1}, {{Category::kMax}, Precision::kHigh, On::kDevice});
  ASSERT_FALSE(rows);
  EXPECT_EQ(Code::kDevice, rows.error().code);
}

}  // namespace strided_test
}  // namespace tensorstat
