#include "tests/support/samples.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace samples {
namespace {

using tensorstat::Dtype;
using Bytes = std::vector<std::byte>;
using Bits = std::vector<std::uint64_t>;  // the bits of one element each

struct Format {
  int exponent_bits, fraction_bits;
  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + fraction_bits); }
  std::uint64_t infinity() const { return top() << fraction_bits; }
  std::uint64_t top() const { return (std::uint64_t{1} << exponent_bits) - 1; }
  std::uint64_t fractions() const { return std::uint64_t{1} << fraction_bits; }
  std::uint64_t largest() const { return infinity() - 1; }
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return {5, 10};
    case Dtype::kBfloat16:
      return {8, 7};
    case Dtype::kFloat32:
      return {8, 23};
    default:
      return {11, 52};
  }
}

Bytes packed(Dtype dtype, const Bits& elements) {
  const std::size_t size = tensorstat::size_bytes(dtype);
  Bytes bytes(elements.size() * size);
  for (std::size_t i = 0; i < elements.size(); ++i) std::memcpy(&bytes[i * size], &elements[i], size);
  return bytes;
}

// A finite number of ordinary size, truncated to the format. The test computes the bits itself, without a library's
// conversion.
std::uint64_t cut_to(Format format, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 + (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t sign = value < 0 ? format.sign() : 0;
  if (exponent <= 0 || exponent >= static_cast<int>(format.top())) return sign;
  return sign | static_cast<std::uint64_t>(exponent) << format.fraction_bits |
         (bits & ((std::uint64_t{1} << 52) - 1)) >> (52 - format.fraction_bits);
}

std::uint64_t any_sign(Format format, Random& random) { return random() & format.sign(); }

// A random value with an exponent field from `lowest` to `highest`.
std::uint64_t between(Format format, std::uint64_t lowest, std::uint64_t highest, Random& random) {
  const std::uint64_t exponent = lowest + random() % (highest - lowest + 1);
  return exponent << format.fraction_bits | random() % format.fractions();
}

template <typename Element>
Bytes floats(Dtype dtype, std::size_t count, Element element) {
  Bits elements(count);
  for (std::size_t i = 0; i < count; ++i) elements[i] = element(format_of(dtype), i);
  return packed(dtype, elements);
}

Bytes normal(Dtype dtype, std::size_t count, Random& random) {
  std::normal_distribution<double> gauss;
  return floats(dtype, count, [&](Format f, auto) { return cut_to(f, gauss(random)); });
}

Bytes relu(Dtype dtype, std::size_t count, Random& random) {
  std::normal_distribution<double> gauss;
  return floats(dtype, count, [&](Format f, auto) { return cut_to(f, std::max(0.0, gauss(random))); });
}

Bytes log_uniform(Dtype dtype, std::size_t count, Random& random) {
  return floats(dtype, count, [&](Format f, auto) { return between(f, 0, f.top() - 1, random) | any_sign(f, random); });
}

// Every value occurs with its negative, except one tiny value.
Bytes cancelling(Dtype dtype, std::size_t count, Random& random) {
  const Format f = format_of(dtype);
  Bits elements;
  while (elements.size() + 1 < count) {
    elements.push_back(between(f, 0, f.top() - 1, random));
    elements.push_back(elements.back() ^ f.sign());
  }
  elements.resize(count, 1);
  std::shuffle(elements.begin(), elements.end(), random);
  return packed(dtype, elements);
}

Bytes subnormal(Dtype dtype, std::size_t count, Random& random) {
  return floats(dtype, count, [&](Format f, auto) {
    return random() % f.fractions() >> random() % static_cast<std::uint64_t>(f.fraction_bits + 1) | any_sign(f, random);
  });
}

// Values on both sides of the smallest normal number.
Bytes tiny(Dtype dtype, std::size_t count, Random& random) {
  return floats(dtype, count, [&](Format f, auto) { return between(f, 0, 3, random) | any_sign(f, random); });
}

Bytes huge(Dtype dtype, std::size_t count, Random& random) {
  const bool one_sided = random() % 2 != 0;
  return floats(dtype, count, [&](Format f, auto) {
    return between(f, f.top() - 3, f.top() - 1, random) | (one_sided ? 0 : any_sign(f, random));
  });
}

Bytes constant(Dtype dtype, std::size_t count, Random& random) {
  const Format format = format_of(dtype);
  const std::uint64_t one = between(format, 0, format.top() - 1, random) | any_sign(format, random);
  return floats(dtype, count, [&](auto, auto) { return one; });
}

Bytes alternating_extremes(Dtype dtype, std::size_t count, Random&) {
  return floats(dtype, count, [](Format f, std::size_t i) { return f.largest() | (i % 2 != 0 ? f.sign() : 0); });
}

Bytes outliers(Dtype dtype, std::size_t count, Random& random) {
  std::normal_distribution<double> gauss;
  return floats(dtype, count, [&](Format f, auto) {
    if (random() % 100 != 0) return cut_to(f, gauss(random));
    return between(f, 0, f.top() - 1, random) | any_sign(f, random);
  });
}

// A few binades anywhere in the range, about as many as a fold takes at once, with zeros.
Bytes band(Dtype dtype, std::size_t count, Random& random) {
  const Format format = format_of(dtype);
  const std::uint64_t width = std::min<std::uint64_t>(random() % 48, format.top() - 1);
  const std::uint64_t lowest = random() % (format.top() - width);
  return floats(dtype, count, [&](Format f, auto) {
    return (random() % 8 == 0 ? 0 : between(f, lowest, lowest + width, random)) | any_sign(f, random);
  });
}

// The exponents drift from one end of the range to the other.
Bytes drifting(Dtype dtype, std::size_t count, Random& random) {
  const std::uint64_t width = random() % 12;
  const bool upwards = random() % 2 != 0;
  return floats(dtype, count, [&](Format f, std::size_t i) {
    const std::uint64_t place = (upwards ? i : count - 1 - i) * f.top() / count;
    return between(f, place, std::min(place + width, f.top() - 1), random) | any_sign(f, random);
  });
}

Bytes zeros_of_both_signs(Dtype dtype, std::size_t count, Random& random) {
  return floats(dtype, count, [&](Format f, auto) { return any_sign(f, random); });
}

// One value, with its last bit flipped in some elements: the sum is often halfway between two results, or nearly.
Bytes near_ties(Dtype dtype, std::size_t count, Random& random) {
  const Format format = format_of(dtype);
  const std::uint64_t one = between(format, 1, format.top() - 1, random);
  return floats(dtype, count, [&](auto, auto) { return one ^ (random() % 4 == 0); });
}

// Ordinary numbers with one NaN or infinity, or several, at the ends and in between.
Bytes specials(Dtype dtype, std::size_t count, Random& random) {
  const Format f = format_of(dtype);
  const std::uint64_t kinds[] = {f.infinity(), f.infinity() | f.sign(),
                                 f.infinity() + 1,                               // signalling
                                 (f.infinity() + f.fractions() / 2) | f.sign(),  // quiet
                                 (f.infinity() + f.fractions() - 1) | f.sign()};
  std::normal_distribution<double> gauss;
  Bits elements(count);
  for (auto& element : elements) element = cut_to(f, gauss(random));
  const std::uint64_t mask = random() % 32;  // which kinds of special values
  const std::size_t places = count == 0 ? 0 : 1 + random() % 4;
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t kind = random() % 5;
    const std::size_t index = std::array{std::size_t{0}, count - 1, random() % count}[random() % 3];
    if ((mask >> kind & 1) != 0) elements[index] = kinds[kind];
  }
  return packed(dtype, elements);
}

Bytes any_bits(Dtype dtype, std::size_t count, Random& random) {
  Bytes bytes(count * tensorstat::size_bytes(dtype));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::uint64_t integer_sign(Dtype dtype) { return std::uint64_t{1} << (8 * tensorstat::size_bytes(dtype) - 1); }

template <typename Element>
Bytes integers(std::size_t count, Dtype dtype, Element element) {
  Bits elements(count);
  for (std::size_t i = 0; i < count; ++i) elements[i] = element(i);
  return packed(dtype, elements);
}

Bytes small_integers(Dtype dtype, std::size_t count, Random& random) {
  return integers(count, dtype, [&](auto) { return random() % 7 - 3; });
}
Bytes mostly_zero(Dtype dtype, std::size_t count, Random& random) {
  return integers(count, dtype, [&](auto) { return random() % 50 == 0 ? random() : 0; });
}
Bytes least_integers(Dtype dtype, std::size_t count, Random&) {
  return integers(count, dtype, [&](auto) { return integer_sign(dtype); });
}
Bytes all_ones(Dtype dtype, std::size_t count, Random&) {
  return integers(count, dtype, [](auto) { return ~std::uint64_t{0}; });
}
Bytes greatest_and_least(Dtype dtype, std::size_t count, Random&) {
  return integers(count, dtype, [&](std::size_t i) { return integer_sign(dtype) - (i % 2); });
}
Bytes powers_of_two(Dtype dtype, std::size_t count, Random& random) {
  return integers(count, dtype, [&](auto) { return std::uint64_t{1} << random() % 64; });
}
Bytes constant_integers(Dtype dtype, std::size_t count, Random& random) {
  return integers(count, dtype, [one = random()](auto) { return one; });
}

// For 8-bit floats: codes.
Bytes ordinary_codes(Dtype dtype, std::size_t count, Random& random) {
  return integers(count, dtype, [&](auto) { return (random() & 0x80) | (0x28 + random() % 0x28); });
}
Bytes few_codes(Dtype dtype, std::size_t count, Random& random) {
  const std::uint64_t some[] = {random(), random(), 0, 0x80, 0x7f, 0x7c};
  return integers(count, dtype, [&](auto) { return some[random() % std::size(some)]; });
}
Bytes code_and_negative(Dtype dtype, std::size_t count, Random& random) {
  const std::uint64_t one = random() % 0x7c;
  return integers(count, dtype, [&](std::size_t i) { return one | (i % 2 != 0 ? 0x80 : 0); });
}

constexpr Distribution kOfCodes[] = {
    {"any bits", any_bits},          {"ordinary", ordinary_codes},
    {"few codes", few_codes},        {"a code and its negative", code_and_negative},
    {"constant", constant_integers}, {"mostly zero", mostly_zero},
};
constexpr Distribution kOfFloats[] = {
    {"normal", normal},
    {"relu", relu},
    {"log-uniform", log_uniform},
    {"cancelling", cancelling},
    {"subnormal", subnormal},
    {"tiny", tiny},
    {"huge", huge},
    {"constant", constant},
    {"alternating extremes", alternating_extremes},
    {"outliers", outliers},
    {"band", band},
    {"drifting", drifting},
    {"zeros of both signs", zeros_of_both_signs},
    {"near ties", near_ties},
    {"specials", specials},
    {"any bits", any_bits},
};
constexpr Distribution kOfIntegers[] = {
    {"any bits", any_bits},           {"small", small_integers},       {"mostly zero", mostly_zero},
    {"least", least_integers},        {"all ones", all_ones},          {"greatest and least", greatest_and_least},
    {"powers of two", powers_of_two}, {"constant", constant_integers},
};
constexpr std::size_t kAwkwardCounts[] = {0,   1,   2,   3,   31,  32,  33,   63,   64,   65,
                                          127, 128, 129, 255, 256, 257, 1023, 1025, 4097, 65537};

}  // namespace

std::span<const Distribution> of(Dtype dtype) {
  if (tensorstat::is_float(dtype)) {
    if (tensorstat::size_bytes(dtype) == 1) return kOfCodes;
    return kOfFloats;
  }
  return kOfIntegers;
}

std::vector<std::byte> one_of(Dtype dtype, std::size_t number, std::size_t count, Random& random) {
  if (tensorstat::is_complex(dtype)) return one_of(tensorstat::part_of(dtype), number, 2 * count, random);
  const auto all = of(dtype);
  return all[number % all.size()].make(dtype, count, random);
}

std::span<const std::size_t> awkward_counts() { return kAwkwardCounts; }

std::vector<Dtype> all_dtypes() {
  std::vector<Dtype> dtypes;
  for (int i = 0; i < tensorstat::kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (!tensorstat::is_packed(dtype) && !tensorstat::is_complex(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

std::vector<Dtype> whole_dtypes() {
  std::vector<Dtype> dtypes = all_dtypes();
  dtypes.insert(dtypes.end(), {Dtype::kComplex64, Dtype::kComplex128});
  return dtypes;
}

std::vector<Dtype> plain_dtypes() {
  std::vector<Dtype> dtypes = all_dtypes();
  std::erase(dtypes, Dtype::kFloat8E8m0fnu);
  return dtypes;
}

std::vector<Dtype> packed_dtypes() {
  std::vector<Dtype> dtypes;
  for (int i = 0; i < tensorstat::kDtypeCount; ++i) {
    if (tensorstat::is_packed(static_cast<Dtype>(i))) dtypes.push_back(static_cast<Dtype>(i));
  }
  return dtypes;
}

bool full() { return std::getenv("TENSORSTAT_FULL") != nullptr; }

bool stands_for_its_family(Dtype dtype) {
  constexpr Dtype kOnes[] = {Dtype::kInt8,         Dtype::kInt64,        Dtype::kFloat32, Dtype::kBfloat16,
                             Dtype::kFloat64,      Dtype::kFloat8E4m3fn, Dtype::kInt4,    Dtype::kFloat8E8m0fnu,
                             Dtype::kFloat4E2m1fn, Dtype::kComplex64};
  return std::ranges::find(kOnes, dtype) != std::end(kOnes);
}

bool is_built_on_a_device(Dtype dtype) {
  constexpr Dtype kLeftToDeviceShapes[] = {Dtype::kInt64, Dtype::kFloat8E4m3fn, Dtype::kFloat4E2m1fn};
  return full() || (stands_for_its_family(dtype) &&
                    std::ranges::find(kLeftToDeviceShapes, dtype) == std::end(kLeftToDeviceShapes));
}

std::vector<Dtype> dtypes_on_a_device() {
  std::vector<Dtype> dtypes = all_dtypes();
  std::erase_if(dtypes, [](Dtype dtype) { return !is_built_on_a_device(dtype); });
  return dtypes;
}

bool is_tried_with_fp64(Dtype dtype) {
  const bool uses_fp64 = tensorstat::is_float(dtype) && tensorstat::size_bytes(dtype) > 1;
  return !full() && !uses_fp64 && std::getenv("TENSORSTAT_CL_FP64") != nullptr;
}

std::uint64_t seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("TENSORSTAT_SEED");
    const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261120;
    std::printf("seed: TENSORSTAT_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

Misaligned::Misaligned(std::span<const std::byte> bytes, std::size_t offset) : storage_(bytes.size() + 64 + offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  begin_ = (64 - address % 64) % 64 + offset;
  std::ranges::copy(bytes, storage_.begin() + static_cast<std::ptrdiff_t>(begin_));
}

}  // namespace samples
