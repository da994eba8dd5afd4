// The parts of a plan hold each element of each tensor once, and no part has much more than its share.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "stats/answer/parts/plan.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat::test {
namespace plan_parts_test {

TEST(PlanParts, HoldEachElementOnce) {
  const ScratchFolder folder;
  const unsigned seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 30; ++run) {
    SCOPED_TRACE("run " + std::to_string(run) + " of seed " + std::to_string(seed));
    std::vector<std::string> files;
    std::vector<std::uint64_t> elements;
    for (std::size_t i = 0; i < 1 + random() % 6; ++i) {
      const std::uint64_t width = std::uint64_t{1} << random() % 4;
      elements.push_back(random() % 3 == 0 ? random() % 1000 : random() % (16 << 20) / width);
      const std::string head = npy("{'descr': '<u" + std::to_string(width) + "', 'fortran_order': False, 'shape': (" +
                                       std::to_string(elements.back()) + ",)}",
                                   "");
      files.push_back(write_file(folder / (std::to_string(run) + "-" + std::to_string(i) + ".npy"), head));
      std::filesystem::resize_file(files.back(), head.size() + elements.back() * width);  // a plan reads the head alone
    }
    const auto parts = static_cast<std::uint32_t>(1 + random() % 12);
    PlanRequest request;
    request.asked = request.measured = {Category::kMax};
    const Plan plan = make_plan(request, files, {}, parts, [](std::size_t) {});
    ASSERT_EQ(plan.lists.size(), parts);
    EXPECT_EQ(plan.uncut_tensors, 0u);
    EXPECT_LE(plan.most_bytes, plan.bytes / parts + (std::uint64_t{3} << 20));
    std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> stretches;  // of elements, by file
    for (const PartList& list : plan.lists) {
      for (const PlannedFile& file : list.files) {
        for (const PlannedFile::Work& work : file.work) {
          EXPECT_TRUE(work.is_piece || (work.first == 0 && work.end == 1));  // a file has one tensor
          stretches[file.number].push_back(work.is_piece ? std::pair(work.first, work.end)
                                                         : std::pair(std::uint64_t{0}, elements[file.number]));
        }
      }
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::ranges::sort(stretches[i]);
      ASSERT_FALSE(stretches[i].empty()) << files[i];
      std::uint64_t end = 0;
      for (const auto& stretch : stretches[i]) {
        EXPECT_EQ(stretch.first, end) << files[i];
        end = stretch.second;
      }
      EXPECT_EQ(end, elements[i]) << files[i];
    }
  }
}

}  // namespace plan_parts_test
}  // namespace tensorstat::test
