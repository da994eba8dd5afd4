#include "bench/real_data.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace tensorstat::bench {
namespace {

constexpr std::size_t kRows = 1024, kColumns = 1024, kWidth = 64;

using Matrix = std::vector<float>;  // kRows x kColumns

class Draw {
 public:
  float normal(double scale = 1) { return static_cast<float>(scale * normal_(random_)); }
  // Log-normal: `decades` is the standard deviation of log10.
  float scale(double middle, double decades) {
    return static_cast<float>(middle * std::pow(10.0, decades * normal_(random_)));
  }

  std::vector<float> normals(std::size_t count, double scale = 1) {
    std::vector<float> values(count);
    for (float& value : values) value = normal(scale);
    return values;
  }

 private:
  std::mt19937_64 random_{20261122};
  std::normal_distribution<double> normal_;
};

// The dot products of each row of `a` with each row of `b`; the matrices have kWidth columns.
Matrix products(const std::vector<float>& a, const std::vector<float>& b) {
  Matrix result(kRows * kColumns);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      float sum = 0;
      for (std::size_t i = 0; i < kWidth; ++i) sum += a[row * kWidth + i] * b[column * kWidth + i];
      result[row * kColumns + column] = sum;
    }
  }
  return result;
}

// Subtracts the mean of each row of `columns`, and divides by the root of its variance.
void normalise(std::vector<float>& values, std::size_t columns) {
  for (std::size_t first = 0; first < values.size(); first += columns) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += values[first + i];
    const double mean = sum / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) squares += std::pow(values[first + i] - mean, 2);
    const double root = std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (std::size_t i = 0; i < columns; ++i) {
      values[first + i] = static_cast<float>((values[first + i] - mean) / root);
    }
  }
}

Matrix attention(Draw& draw) {
  const auto queries = draw.normals(kRows * kWidth, 1.5), keys = draw.normals(kColumns * kWidth, 1.5);
  Matrix scores = products(queries, keys);
  for (auto row = scores.begin(); row != scores.end(); row += kColumns) {
    const float highest = *std::max_element(row, row + kColumns);
    double sum = 0;
    for (auto element = row; element != row + kColumns; ++element)
      sum += * element = std::exp((*element - highest) / 8);
    for (auto element = row; element != row + kColumns; ++element) *element = static_cast<float>(*element / sum);
  }
  return scores;
}

Matrix second_moment(Draw& draw) {
  Matrix moments(kRows * kColumns, 0.0f);
  std::vector<float> scales(kRows);
  for (float& scale : scales) scale = draw.scale(1e-5, 1);
  for (int step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const float gradient = draw.normal(scales[i / kColumns]);
      moments[i] = 0.999f * moments[i] + 0.001f * gradient * gradient;
    }
  }
  return moments;
}

Matrix embedding(Draw& draw) {
  Matrix gradient(kRows * kColumns, 0.0f);
  for (std::size_t token = 0; token < kRows / 8; ++token) {
    const auto row = static_cast<std::size_t>(std::abs(draw.normal(kRows / 4.0))) % kRows;
    const float scale = draw.scale(1e-5, 0.5);
    for (std::size_t i = 0; i < kColumns; ++i) gradient[row * kColumns + i] += draw.normal(scale);
  }
  return gradient;
}

Matrix behind_relu(Draw& draw, double middle, double decades) {
  Matrix gradient(kRows * kColumns);
  for (std::size_t row = 0; row < kRows; ++row) {
    const float scale = draw.scale(middle, decades);
    for (std::size_t i = 0; i < kColumns; ++i) {
      const bool passes = draw.normal() > 0;
      // a product, so that some zeros are -0
      gradient[row * kColumns + i] = draw.normal(scale) * (passes ? 1.0f : 0.0f);
    }
  }
  return gradient;
}

Matrix logits(Draw& draw) {
  auto hidden = draw.normals(kRows * kWidth), vocabulary = draw.normals(kColumns * kWidth, 0.3);
  normalise(hidden, kWidth);
  return products(hidden, vocabulary);
}

Matrix layer_norm(Draw& draw) {
  Matrix values = draw.normals(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kColumns % 100 == 7) values[i] *= 30;
  }
  normalise(values, kColumns);
  return values;
}

}  // namespace

std::vector<float> real_values(Kind kind) {
  Draw draw;
  switch (kind) {
    case Kind::kAttention:
      return attention(draw);
    case Kind::kSecondMoment:
      return second_moment(draw);
    case Kind::kEmbedding:
      return embedding(draw);
    case Kind::kRelu:
      return behind_relu(draw, 1e-4, 0.3);
    case Kind::kLogits:
      return logits(draw);
    case Kind::kLayerNorm:
      return layer_norm(draw);
    case Kind::kScaled:
      return behind_relu(draw, 8192 * 1e-9, 0.7);
    default:
      return {};
  }
}

}  // namespace tensorstat::bench
