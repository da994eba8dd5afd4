// Oclgrind reports no fault in any kernel: no access outside a buffer, no race, no divergent barrier. In both shapes,
// with and without fp64, in `high` and `low`, for every dtype. The partials are right there, too. The test runs itself
// in Oclgrind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "precision/partial.h"
#include "stats/core/engine/engine.hpp"
#include "stats/core/engine/ledger.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace oclgrind_test {

// In simulation an element takes microseconds: a few slices of few elements, unaligned.
TEST(Simulated, EveryDtypeIsRight) {
  if (std::getenv("TENSORSTAT_SIMULATED") == nullptr) GTEST_SKIP() << "runs in Oclgrind, started by the other test";
  Ledger ledger{std::nullopt};
  auto device = make_opencl_engine({}, ledger);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->description().find("Portable"), std::string::npos) << "this is not Oclgrind";
  const auto host = make_host_engine({.threads = 1});
  samples::Random random(samples::seed());
  std::vector<Dtype> dtypes = samples::whole_dtypes();
  std::ranges::copy(samples::packed_dtypes(), std::back_inserter(dtypes));
  for (const Dtype dtype : dtypes) {
    if (samples::is_tried_with_fp64(dtype)) continue;
    if (!samples::full() && !samples::stands_for_its_family(dtype)) continue;
    std::deque<samples::Misaligned> bytes;
    std::vector<Tensor> tensors;
    for (const std::size_t count : {1, 77, 1300}) {
      const auto made = samples::one_of(dtype, random(), count, random);
      bytes.emplace_back(made, size_bytes(dtype));
      // For a packed dtype all but the last element of the last byte.
      const std::uint64_t elements = elements_of(dtype, made.size()) - is_packed(dtype);
      tensors.push_back({.dtype = dtype, .element_count = elements, .address = bytes.back().data()});
    }
    for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
      if (!(*device)->refusal(tensors[0], precision).empty()) continue;
      // A work-group takes a third of a second: the quick test runs one tensor, of 77 or of 1,300 elements.
      const std::size_t one = 1 + (static_cast<std::size_t>(dtype) + static_cast<std::size_t>(precision)) % 2;
      const auto tried = samples::full() ? std::span(tensors) : std::span(tensors).subspan(one, 1);
      const double cast_scale = precision == Precision::kLow ? 3 : 1;
      std::vector<Partial> partials(tried.size(), {dtype, precision, Needs{NEED_ALL} | kQuantiles, cast_scale});
      std::vector<Partial> expected = partials;
      std::vector<Job> on_device, on_host;
      for (std::size_t i = 0; i < tried.size(); ++i) {
        on_device.push_back({tried[i], &partials[i]});
        on_host.push_back({tried[i], &expected[i]});
      }
      ASSERT_TRUE(host->fold(on_host));
      const Status status = (*device)->fold(on_device);
      ASSERT_TRUE(status) << status.error().message;
      for (std::size_t i = 0; i < tried.size(); ++i) {
        EXPECT_EQ(expected[i].serialize(), partials[i].serialize())
            << name(dtype) << ", " << name(precision) << ", " << tried[i].element_count << ", seed " << samples::seed();
      }
    }
  }
}

// A dtype with itself, and with the next one.
TEST(Simulated, PairsAreRight) {
  if (std::getenv("TENSORSTAT_SIMULATED") == nullptr) GTEST_SKIP() << "runs in Oclgrind, started by the other test";
  Ledger ledger{std::nullopt};
  auto device = make_opencl_engine({}, ledger);
  ASSERT_TRUE(device) << device.error().message;
  const auto host = make_host_engine({.threads = 1});
  samples::Random random(samples::seed());
  const auto all = samples::all_dtypes();
  // The quick test runs every third dtype.
  for (std::size_t k = samples::full() ? 0 : samples::seed() % 3; k < all.size(); k += samples::full() ? 1 : 3) {
    for (const Dtype other : {all[k], all[(k + 1) % all.size()]}) {
      std::vector<samples::Misaligned> bytes;
      std::vector<TensorPair> pairs;
      std::vector<PairPartial> results;
      for (const std::size_t count : {1, 77, 1300}) {
        for (const Dtype dtype : {all[k], other}) {
          const auto distributions = samples::of(dtype);
          const auto made = distributions[random() % distributions.size()].make(dtype, count, random);
          bytes.emplace_back(made, size_bytes(dtype));
        }
        const samples::Misaligned &a = bytes[bytes.size() - 2], &b = bytes.back();
        pairs.push_back({{.dtype = all[k], .element_count = count, .address = a.data()},
                         {.dtype = other, .element_count = count, .address = b.data()}});
        results.emplace_back(all[k], other, PairTolerance{1e-3, 1e-6});
      }
      KnownBuffers known;
      if (!(*device)->refusal(pairs[0], known).empty()) continue;
      std::vector<PairPartial> expected = results;
      const auto jobs = [&](std::vector<PairPartial>& partials) {
        std::vector<PairJob> all;
        for (std::size_t i = 0; i < pairs.size(); ++i) all.push_back({pairs[i], 9, &partials[i]});
        return all;
      };
      host->compare(jobs(expected));
      const auto status = (*device)->compare(jobs(results));
      ASSERT_TRUE(status) << status.error().message;
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(expected[i].serialize(), results[i].serialize())
            << name(all[k]) << " and " << name(other) << ", " << i << ", seed " << samples::seed();
      }
    }
  }
}

struct Variant {
  const char* name;
  const char* environment;
};
class Oclgrind : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(Shape, Oclgrind,
                         testing::Values(Variant{"slice", "TENSORSTAT_CL_SHAPE=slice"},
                                         Variant{"group", "TENSORSTAT_CL_SHAPE=group"},
                                         Variant{"slice_fp64less", "TENSORSTAT_CL_SHAPE=slice TENSORSTAT_CL_FP64=0"},
                                         Variant{"group_fp64less", "TENSORSTAT_CL_SHAPE=group TENSORSTAT_CL_FP64=0"}),
                         [](const auto& info) { return info.param.name; });

TEST_P(Oclgrind, HasNothingToSay) {
  if (std::system("command -v oclgrind >/dev/null") != 0) GTEST_SKIP() << "oclgrind is not installed";
  if (!samples::full() && std::string_view(GetParam().name) != "group") GTEST_SKIP() << "left to the full tests";
  if (kSanitized) GTEST_SKIP() << "Oclgrind and a sanitizer both want to be loaded first";
  const ScratchFolder folder;
  const std::string log = folder / "log";
  // The quick test uses groups of 64 work-items, a quarter of the normal size, which takes half as long.
  const std::string quick = samples::full() ? "" : " --max-wgsize 64";
  // Oclgrind's check for uninitialized memory does not support vector loads.
  const bool scalar = std::string(GetParam().name).starts_with("group");
  const std::string command = "TENSORSTAT_SIMULATED=1 TENSORSTAT_CACHE=0 " + std::string(GetParam().environment) +
                              (samples::full() && scalar ? " oclgrind --uninitialized" : " oclgrind") + quick +
                              " --build-options -cl-opt-disable --data-races --log '" + log + "' '" +
                              std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --gtest_filter=Simulated.* >'" + (folder / "out") + "' 2>&1";
  const int status = std::system(command.c_str());
  EXPECT_EQ(status, 0) << content_of(folder / "out");
  EXPECT_NE(content_of(folder / "out").find("[       OK ]"), std::string::npos) << content_of(folder / "out");
  EXPECT_EQ(content_of(log), "");
}

}  // namespace oclgrind_test
}  // namespace tensorstat
