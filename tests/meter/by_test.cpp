// A row by axis or by block has the same bits as a tensor of its elements alone, gathered by simple loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/engines.hpp"
#include "tests/support/gathered_rows.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace by_test {

std::string text_of(const By& by) {
  std::string text = to_string(by.shape) + " by";
  for (const std::int64_t axis : by.axes) text += " " + std::to_string(axis);
  return text + " or " + std::to_string(by.block_elements);
}

class ByTest : public testing::Test {
 protected:
  samples::Random random{samples::seed()};

  std::uint64_t below(std::uint64_t end) { return random() % end; }

  std::vector<std::byte> bits_of(Dtype dtype, std::size_t count) {
    return samples::one_of(dtype, random(), count, random);
  }

  By some_by(std::uint64_t most_elements) {
    By by;
    std::uint64_t room = most_elements;
    for (std::uint64_t rank = below(5); rank != 0; --rank) {
      const std::uint64_t length =
          below(8) == 0 ? 1 : 1 + below(std::min<std::uint64_t>(room, below(4) == 0 ? 2000 : 40));
      by.shape.push_back(length);
      room /= length;
    }
    std::ranges::shuffle(by.shape, random);
    if (below(5) == 0) {
      by.block_elements = 1 + below(3000);
      return by;
    }
    for (std::size_t axis = 0; axis < by.shape.size(); ++axis) {
      if (below(2) == 0) continue;
      by.axes.push_back(static_cast<std::int64_t>(axis) - (below(2) == 0 ? std::ssize(by.shape) : 0));
    }
    std::ranges::shuffle(by.axes, random);
    return by;
  }

  void expect_rows(const Tensor& tensor, const std::vector<std::byte>& bits, const By& by, const Request& request) {
    SCOPED_TRACE(text_of(by) + " of " + std::string(name(tensor.dtype)));
    const auto shape = row_shape(by);
    ASSERT_TRUE(shape) << shape.error().message;
    const auto expected = gathered_rows(bits, size_bytes(tensor.dtype), by, *element_count(*shape));
    const auto rows = meter.measure_by(tensor, by, request);
    ASSERT_TRUE(rows) << rows.error().message;
    ASSERT_EQ(rows->size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Tensor alone{.dtype = tensor.dtype,
                         .element_count = expected[i].size() / size_bytes(tensor.dtype),
                         .address = expected[i].data()};
      const auto whole = meter.measure({&alone, 1}, {request.categories, request.precision, On::kHost});
      ASSERT_TRUE(whole) << whole.error().message;
      const auto &values = (*rows)[i].statistics.values, &wanted = whole->front().statistics.values;
      for (std::size_t k = 0; k < request.categories.size(); ++k) {
        ASSERT_EQ(to_string(values[k]), to_string(wanted[k])) << "row " << i << ", " << name(request.categories[k]);
      }
    }
  }

  void expect_partials(const Tensor& tensor, const std::vector<std::byte>& bits, const By& by, const Request& request) {
    SCOPED_TRACE(text_of(by) + " of " + std::string(name(tensor.dtype)));
    auto partials = meter.fold_by(tensor, by, request);
    ASSERT_TRUE(partials) << partials.error().message;
    const auto expected = gathered_rows(bits, size_bytes(tensor.dtype), by, partials->size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Tensor alone{.dtype = tensor.dtype,
                         .element_count = expected[i].size() / size_bytes(tensor.dtype),
                         .address = expected[i].data()};
      auto whole = meter.fold({&alone, 1}, {request.categories, request.precision, On::kHost});
      ASSERT_TRUE(whole) << whole.error().message;
      ASSERT_EQ((*partials)[i].serialize(), whole->front().serialize()) << "row " << i;
    }
  }

  Meter meter;
};

TEST_F(ByTest, EveryDtypeAndManyShapes) {
  const std::vector<Dtype> dtypes = samples::whole_dtypes();
  for (int run = 0; run < 300; ++run) {
    const Dtype dtype = dtypes[below(dtypes.size())];
    const By by = some_by(60000);
    const std::uint64_t count = *element_count(by.shape);
    if (*element_count(*row_shape(by)) > 3000) continue;
    const std::vector<std::byte> bits = bits_of(dtype, count);
    Categories categories = every_category();
    if (below(2) == 0) std::erase_if(categories, is_digest);
    const auto precision = below(3) == 0 ? Precision::kLow : Precision::kHigh;
    expect_rows({.dtype = dtype, .element_count = count, .address = bits.data()}, bits, by, {categories, precision});
    if (HasFatalFailure()) return;
  }
}

// More than one unit of work in both directions, so that several threads work on one column.
TEST_F(ByTest, TallAndWideColumns) {
  Categories categories = every_category();
  std::erase_if(categories, is_digest);
  for (const Shape& shape : {Shape{70000, 3}, Shape{3000, 200}, Shape{2, 9000, 2, 17}}) {
    for (const Dtype dtype :
         {Dtype::kFloat32, Dtype::kFloat16, Dtype::kFloat64, Dtype::kUint8, Dtype::kComplex64, Dtype::kComplex128}) {
      for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
        By by{.shape = shape, .axes = {-1}};
        if (shape.size() == 4) by.axes = {0, -1, 2};
        const std::uint64_t count = *element_count(shape);
        const std::vector<std::byte> bits = bits_of(dtype, count);
        expect_rows({.dtype = dtype, .element_count = count, .address = bits.data()}, bits, by,
                    {categories, precision});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Statistics with columns that are folded in vector lanes. Each column has a distribution of its own, because each lane
// has a window of its own. Columns beside one with NaN must be folded correctly, too.
TEST_F(ByTest, ColumnsBesideColumnsOfAnotherKind) {
  const char* const few[] = {
      "count,max,min,avg,l2norm,zero count,negative zero count,positive zero count,nan count,"
      "positive inf count,negative inf count",
      "max,min", "avg"};
  for (const Dtype dtype : samples::all_dtypes()) {
    for (const Shape& shape :
         {Shape{128, 64}, Shape{1000, 4}, Shape{300, 17}, Shape{2500, 130}, Shape{1500, 95}, Shape{257, 1100}}) {
      const Request request{*categories_from(few[below(3)])};
      const std::uint64_t lines = shape[0], columns = shape[1], size = size_bytes(dtype);
      const bool is_mixed = below(3) != 0;
      std::vector<std::byte> bits(lines * columns * size), column = bits_of(dtype, lines);
      for (std::uint64_t i = 0; i < columns; ++i) {
        if (is_mixed) column = bits_of(dtype, lines);
        for (std::uint64_t line = 0; line < lines; ++line) {
          std::memcpy(&bits[(line * columns + i) * size], &column[line * size], size);
        }
      }
      const By by{.shape = shape, .axes = {1}};
      const Tensor tensor{.dtype = dtype, .element_count = lines * columns, .address = bits.data()};
      expect_rows(tensor, bits, by, request);
      if (HasFatalFailure()) return;
      expect_partials(tensor, bits, by, request);
      if (HasFatalFailure()) return;
    }
  }
}

// Several units of work, with windows that move.
TEST_F(ByTest, LongColumnsOfManyKinds) {
  const Request request{*categories_from("count,max,min,avg,l2norm,zero count,negative zero count")};
  for (const Dtype dtype : samples::all_dtypes()) {
    const auto all = samples::of(dtype);
    const std::uint64_t lines = 70001, columns = 64, size = size_bytes(dtype);
    std::vector<std::byte> bits;
    for (std::uint64_t line = 0; line < lines; line += 10000) {
      const std::uint64_t count = std::min<std::uint64_t>(10000, lines - line) * columns;
      const auto some = all[line == 0 ? all.size() - 1 : below(all.size())].make(dtype, count, random);
      bits.insert(bits.end(), some.begin(), some.end());
    }
    // The largest signed and the largest unsigned integer, each in all elements of a column.
    std::vector<std::byte> largest(2 * size, std::byte{0xff});
    for (std::size_t i = 0; i < size; ++i) largest[i] = i + 1 == size ? std::byte{0x80} : std::byte{0};
    for (std::uint64_t line = 0; line < lines; ++line) {
      std::memcpy(&bits[line * columns * size], largest.data(), 2 * size);
    }
    expect_rows({.dtype = dtype, .element_count = lines * columns, .address = bits.data()}, bits,
                {.shape = {lines, columns}, .axes = {1}}, request);
    if (HasFatalFailure()) return;
  }
}

// The rows of a transposed view equal those of a transposed copy.
TEST_F(ByTest, TensorsWithStrides) {
  const std::vector<std::byte> bits = bits_of(Dtype::kFloat32, 60 * 50);
  std::vector<std::byte> copy;
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t k = 0; k < 60; ++k) {
      const auto* element = bits.data() + 4 * (k * 50 + i);
      copy.insert(copy.end(), element, element + 4);
    }
  }
  const Strides strides{{50, 60}, {4, 200}};
  const Tensor view{.dtype = Dtype::kFloat32, .element_count = 3000, .address = bits.data(), .strides = &strides};
  for (const std::int64_t axis : {0, 1})
    expect_rows(view, copy, {.shape = {50, 60}, .axes = {axis}}, {every_category()});
  expect_rows(view, copy, {.shape = {50, 60}}, {every_category()});
}

TEST_F(ByTest, PartialsOfSlabsMerge) {
  Categories categories = every_category();
  std::erase_if(categories, is_digest);
  const Request request{categories};
  const std::vector<std::byte> bits = bits_of(Dtype::kFloat32, 5000 * 6);
  const auto slab = [&](std::uint64_t first, std::uint64_t lines) {
    const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = lines * 6, .address = bits.data() + first * 24};
    auto partials = meter.fold_by(tensor, {.shape = {lines, 6}, .axes = {1}}, request);
    EXPECT_TRUE(partials);
    return *std::move(partials);
  };
  auto all = slab(0, 1500), rest = slab(1500, 3500), whole = slab(0, 5000);
  for (std::size_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(rest[i].move_to(1500));
    ASSERT_TRUE(all[i].merge(rest[i]));
    EXPECT_EQ(all[i].serialize(), whole[i].serialize());
  }
}

TEST_F(ByTest, TensorsWithoutElementsHaveRows) {
  const Request request{every_category()};
  const auto size = [&](const Shape& shape, std::vector<std::int64_t> axes) {
    const auto rows = meter.measure_by({.dtype = Dtype::kFloat32}, {.shape = shape, .axes = std::move(axes)}, request);
    EXPECT_TRUE(rows);
    return rows ? rows->size() : 99;
  };
  EXPECT_EQ(size({3, 0}, {0}), 3u);
  EXPECT_EQ(size({0, 3}, {1}), 3u);
  EXPECT_EQ(size({0, 3}, {0}), 0u);
  EXPECT_EQ(size({0, 3}, {}), 1u);
  float one = 1;
  const auto scalar = meter.measure_by({.element_count = 1, .address = &one}, {}, request);
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->size(), 1u);
}

TEST_F(ByTest, RefusesWhatMakesNoSense) {
  std::vector<float> bits(6);
  const Tensor tensor{.element_count = 6, .address = bits.data()};
  const auto words = [&](const By& by, Code code, On on = On::kAuto) {
    const auto rows = meter.measure_by(tensor, by, {every_category(), Precision::kHigh, on});
    EXPECT_FALSE(rows);
    if (rows) return std::string();
    EXPECT_EQ(rows.error().code, code);
    return rows.error().message;
  };
  EXPECT_NE(words({.shape = {2, 3}, .axes = {2}}, Code::kInvalid).find("no axis 2"), std::string::npos);
  EXPECT_NE(words({.shape = {2, 3}, .axes = {-3}}, Code::kInvalid).find("no axis -3"), std::string::npos);
  EXPECT_NE(words({.shape = {2, 3}, .axes = {1, -1}}, Code::kInvalid).find("twice"), std::string::npos);
  EXPECT_NE(words({.shape = {2, 2}, .axes = {0}}, Code::kInvalid).find("does not fit the tensor"), std::string::npos);
  EXPECT_NE(words({.shape = {6}, .axes = {0}, .block_elements = 2}, Code::kInvalid).find("not both"),
            std::string::npos);
  const auto many = row_shape({.shape = {1025, 1024, 2}, .axes = {0, 1}});
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("1048576"), std::string::npos);
}

}  // namespace by_test
}  // namespace tensorstat
