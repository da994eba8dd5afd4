#include "stats/answer/msprobe/tensor_cells.hpp"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "stats/answer/msprobe/numpy_scalars.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat::msprobe {
namespace {

constexpr std::size_t kMeasureCount = 6, kPieceElements = std::size_t{1} << 16;
constexpr const char* kUnsupported = "unsupported";

Measures all(const char* text) { return Measures(kMeasureCount, text); }

// The value, rounded to this number of decimals.
double rounded(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return std::strtod(text, nullptr);
}

// A measure with 12 decimals, or "Nan".
PythonValue measured(double value) { return std::isnan(value) ? PythonValue("Nan") : PythonValue(rounded(value, 12)); }

double value_of_half(std::uint16_t code) {
  const int exponent = code >> 10 & 31, fraction = code & 1023;
  const double sign = code >> 15 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

template <typename T, typename Widen>
void widen_all(std::span<const std::byte> bytes, std::vector<double>& values, const Widen& widen) {
  values.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    values[i] = widen(value);
  }
}

// Converts the elements to binary64. False if NumPy does not have the dtype.
bool widen(Dtype dtype, std::span<const std::byte> bytes, std::vector<double>& values) {
  const auto plain = [&]<typename T>(T) {
    widen_all<T>(bytes, values, [](T value) { return static_cast<double>(value); });
    return true;
  };
  switch (dtype) {
    case Dtype::kBool:
      widen_all<std::uint8_t>(bytes, values, [](std::uint8_t value) { return value != 0 ? 1.0 : 0.0; });
      return true;
    case Dtype::kInt8:
      return plain(std::int8_t());
    case Dtype::kInt16:
      return plain(std::int16_t());
    case Dtype::kInt32:
      return plain(std::int32_t());
    case Dtype::kInt64:
      return plain(std::int64_t());
    case Dtype::kUint8:
      return plain(std::uint8_t());
    case Dtype::kUint16:
      return plain(std::uint16_t());
    case Dtype::kUint32:
      return plain(std::uint32_t());
    case Dtype::kUint64:
      return plain(std::uint64_t());
    case Dtype::kFloat32:
      return plain(float());
    case Dtype::kFloat64:
      return plain(double());
    case Dtype::kFloat16:
      widen_all<std::uint16_t>(bytes, values, value_of_half);
      return true;
    case Dtype::kBfloat16:
      widen_all<std::uint16_t>(
          bytes, values, [](std::uint16_t code) { return double{std::bit_cast<float>(std::uint32_t{code} << 16)}; });
      return true;
    default:
      return false;
  }
}

// A sum in two binary64 numbers (Dekker 1971; Knuth's two-sum).
class Sum {
 public:
  void add_product(double a, double b) {
    const double product = a * b;
    const double error = std::fma(a, b, -product);
    const double sum = high_ + product, part = sum - high_;
    const double lost = (high_ - (sum - part)) + (product - part);
    high_ = sum;
    if (std::isfinite(sum)) low_ += lost + error;
  }
  double value() const { return high_ + low_; }

 private:
  double high_ = 0, low_ = 0;
};

// Compares two tensors of one shape, with at least one dimension, in pieces.
class Pass {
 public:
  Pass(Dtype npu, Dtype bench) : is_double_(is_relative_double(npu, bench)) {}

  void add(double npu, double bench) {
    ++count_;
    const auto is_special = [](double value) { return !std::isfinite(value); };
    if (is_special(npu) || is_special(bench)) {
      if (std::isnan(npu) != std::isnan(bench) || std::isinf(npu) != std::isinf(bench)) has_other_places_ = true;
      npu = bench = 0;
    }
    const double difference = npu - bench;
    products_.add_product(npu, bench);
    of_npu_.add_product(npu, npu);
    of_bench_.add_product(bench, bench);
    of_differences_.add_product(difference, difference);
    keep_greater(greatest_, std::fabs(difference));
    const double relative = relative_of_elements(npu, bench, is_double_);
    keep_greater(greatest_relative_, relative);
    below_thousandth_ += is_below(relative, 0.001);
    below_five_thousandths_ += is_below(relative, 0.005);
  }

  Measures measures() const {
    if (has_other_places_) return all(kNotAvailable);
    const auto share = [&](std::uint64_t below) {
      return rounded(static_cast<double>(below) / static_cast<double>(count_), 12);
    };
    return {cosine(),
            std::sqrt(of_differences_.value()),
            measured(greatest_),
            measured(greatest_relative_),
            share(below_thousandth_),
            share(below_five_thousandths_)};
  }

 private:
  // Keeps the greater value. Once it is NaN, it stays NaN.
  static void keep_greater(double& greatest, double value) {
    if (!(value <= greatest) && !std::isnan(greatest)) greatest = value;
  }
  bool is_below(double relative, double bound) const {
    return is_double_ ? relative < bound : static_cast<float>(relative) < static_cast<float>(bound);
  }
  PythonValue cosine() const {
    if (count_ == 1) return kUnsupported;
    constexpr double kZero = 0x1p-52;
    const double npu = std::sqrt(of_npu_.value()), bench = std::sqrt(of_bench_.value());
    if (npu <= kZero && bench <= kZero) return 1.0;
    if (npu <= kZero || bench <= kZero) return "Nan";
    const double cosine = products_.value() / (npu * bench);
    if (std::isnan(cosine)) return "Nan";
    const double value = rounded(cosine, 12);
    return value > 0.9999 ? rounded(value, 6) : value;
  }

  const bool is_double_;
  std::uint64_t count_ = 0, below_thousandth_ = 0, below_five_thousandths_ = 0;
  bool has_other_places_ = false;
  double greatest_ = 0, greatest_relative_ = 0;
  Sum products_, of_npu_, of_bench_, of_differences_;
};

Measures of_scalars(Dtype of_npu, double npu, Dtype of_bench, double bench) {
  return {kUnsupported,
          kUnsupported,
          measured(distance_of_scalars(of_npu, npu, of_bench, bench)),
          measured(relative_of_scalars(npu, bench)),
          kUnsupported,
          kUnsupported};
}

Shape squeezed(Shape shape) {
  std::erase(shape, 1u);
  return shape;
}

Result<Measures> compare_tensors(TensorReader& npu, TensorReader& bench, const std::string& path) {
  const Shape shape = squeezed(npu.shape());
  if (npu.element_count() == 0) return all(kUnsupported);
  if (shape != squeezed(bench.shape())) return all("shape unmatched");
  Pass pass(npu.dtype(), bench.dtype());
  const std::size_t room = std::min<std::uint64_t>(kPieceElements, npu.element_count());
  std::vector<std::byte> of_npu(room * size_bytes(npu.dtype())), of_bench(room * size_bytes(bench.dtype()));
  std::vector<double> a, b;
  for (TensorReader* reader : {&npu, &bench}) reader->rewind(TensorReader::Order::kC, TensorReader::View::kElements);
  while (true) {
    const auto got = npu.read(of_npu);
    if (!got) return got.error();
    const auto other = bench.read(of_bench);
    if (!other) return other.error();
    if (!widen(npu.dtype(), std::span(of_npu).first(*got), a) ||
        !widen(bench.dtype(), std::span(of_bench).first(*other), b)) {
      return Error{Code::kUnsupported,
                   printable(path) + ": NumPy has no dtype of this kind, and msprobe's rules are NumPy's"};
    }
    if (a.size() != b.size()) return Error{Code::kUnreadable, printable(path) + ": changed while it was read"};
    if (a.empty()) return pass.measures();
    if (shape.empty()) return of_scalars(npu.dtype(), a[0], bench.dtype(), b[0]);
    for (std::size_t i = 0; i < a.size(); ++i) pass.add(a[i], b[i]);
  }
}

Result<Measures> compare_files(const std::string& npu, const std::string& bench) {
  auto a = open_tensor(npu, {});
  if (!a) return a.error();
  auto b = open_tensor(bench, {});
  if (!b) return b.error();
  return compare_tensors(*a, *b, npu);
}

}  // namespace

void fill_tensor_measures(Comparison& comparison, const std::function<void(std::string_view words)>& failed) {
  for (ComparedRow& row : comparison.rows) {
    row.measures = all(kUnsupported);
    if (row.bench == nullptr || row.npu->data_name == kNoDataFile || row.bench->data_name == kNoDataFile) continue;
    auto measures = compare_files(comparison.npu.data_folder + "/" + row.npu->data_name,
                                  comparison.bench.data_folder + "/" + row.bench->data_name);
    if (measures) {
      row.measures = *std::move(measures);
      continue;
    }
    failed(measures.error().message);
    comparison.is_whole = false;
  }
}

}  // namespace tensorstat::msprobe
