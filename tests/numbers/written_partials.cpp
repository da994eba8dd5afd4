// A program that prints partials and values of tensors that are hard to sum, and of pairs of them. Builds for two
// processors must print the same bytes; `tests/run --arch` compares them. Ends with 0 if everything could be measured.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/oracle.hpp"
#include "tests/support/pair_samples.hpp"
#include "tests/support/samples.hpp"

using namespace tensorstat;

namespace {

using Bytes = std::vector<std::byte>;

// A seed that TENSORSTAT_SEED does not change: both programs must have the same.
constexpr std::uint64_t kSeed = 20261125;
constexpr std::size_t kMany = 3000;

void print(const char* what, std::span<const std::byte> bytes) {
  std::printf("  %s ", what);
  for (const std::byte each : bytes) std::printf("%02x", static_cast<unsigned>(each));
  std::printf("\n");
}

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "written_partials: %s\n", error.message.c_str());
  std::exit(1);
}

Categories categories_of(Dtype dtype, Precision precision, std::size_t count) {
  Categories categories = every_category();
  // Few elements, because a partial lists the bins that are not empty.
  if (count < 100 && precision == Precision::kHigh) {
    const Categories quantiles = *categories_from("p1,p50,p99");
    categories.insert(categories.end(), quantiles.begin(), quantiles.end());
  }
  std::erase_if(categories, [&](Category each) { return !has(dtype, each); });
  return categories;
}

void print_tensor(Meter& meter, const Tensor& tensor, const Request& request) {
  Request mergeable = request;
  std::erase_if(mergeable.categories, is_digest);
  const auto partials = meter.fold({&tensor, 1}, mergeable);
  if (!partials) fail(partials.error());
  print("partial", partials->front().serialize());
  const auto measured = meter.measure({&tensor, 1}, request);
  if (!measured) fail(measured.error());
  for (const Category each : request.categories) {
    std::printf("  %s %s\n", std::string(name(each)).c_str(),
                oracle::shown(*(*measured)[0].statistics.find(each)).c_str());
  }
}

void print_pair(Meter& meter, const TensorPair& pair, const PairTolerance& tolerance) {
  const auto partials = meter.compare({&pair, 1}, {.tolerance = tolerance, .on = On::kHost});
  if (!partials) fail(partials.error());
  print("pair", partials->front().serialize());
  for (int each = 0; each < kPairStatisticCount; ++each) {
    const auto statistic = static_cast<PairStatistic>(each);
    std::printf("  %s %s\n", std::string(name(statistic)).c_str(),
                oracle::shown(partials->front().finish(statistic)).c_str());
  }
}

}  // namespace

int main() {
  samples::Random random{kSeed};
  Meter meter({.threads = 2});
  for (const Dtype dtype : samples::whole_dtypes()) {
    const std::size_t size = size_bytes(dtype);
    const std::size_t distributions = samples::of(is_complex(dtype) ? part_of(dtype) : dtype).size();
    Bytes before(kMany * size);  // a partner for the first pair
    for (std::size_t number = 0; number < distributions; ++number) {
      for (const std::size_t count : std::array<std::size_t, 4>{0, 1, 63, kMany}) {
        const Bytes bytes = samples::one_of(dtype, number, count, random);
        const Tensor tensor{.dtype = dtype, .element_count = count, .address = bytes.data()};
        std::printf("%s, distribution %zu, %zu elements\n", std::string(name(dtype)).c_str(), number, count);
        print("elements", std::span(bytes).first(std::min<std::size_t>(bytes.size(), 1024)));
        for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
          print_tensor(meter, tensor, {categories_of(dtype, precision, count), precision, On::kHost});
        }
        if (count != kMany || is_complex(dtype)) continue;
        const Tensor other{.dtype = dtype, .element_count = count, .address = before.data()};
        const Bytes near = samples::beside(dtype, bytes, samples::kPartners[number % 5], random);
        const Tensor beside{.dtype = dtype, .element_count = count, .address = near.data()};
        for (const Tensor& b : {other, beside}) print_pair(meter, {tensor, b}, samples::any_tolerance(random));
        before = bytes;
      }
    }
  }
  for (const Dtype dtype : samples::packed_dtypes()) {
    Bytes bytes(2048);
    for (std::byte& each : bytes) each = static_cast<std::byte>(random());
    const Tensor tensor{.dtype = dtype, .element_count = 4001, .address = bytes.data()};
    std::printf("%s\n", std::string(name(dtype)).c_str());
    print_tensor(meter, tensor, {categories_of(dtype, Precision::kHigh, 4001), Precision::kHigh, On::kHost});
  }
  return 0;
}
