// Runs the stored fuzzing inputs, and every prefix of each, without libFuzzer. So the checks of tests/fuzz run with any
// compiler.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"
#include "tests/support/built.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace corpus_replay_test {

std::vector<std::string> corpus_of(std::string_view target) {
  std::vector<std::string> files;
  const auto folder = std::filesystem::path(built::source_dir()) / "tests/fuzz/corpus" / target;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::ranges::sort(files);
  return files;
}

class CorpusReplay : public testing::TestWithParam<fuzz::Target> {};

TEST_P(CorpusReplay, HoldsItsPromises) {
  constexpr std::size_t kMostPrefixBytes = 600;
  const auto files = corpus_of(GetParam().name);
  EXPECT_GE(files.size(), 10u);
  for (const auto& path : files) {
    std::cout << path << std::endl;  // a failed check aborts, so the last line names the input
    const std::string bytes = content_of(path);
    GetParam().run(bytes);
    for (std::size_t length = 0; length < std::min(bytes.size(), kMostPrefixBytes); ++length) {
      GetParam().run(std::string(bytes, 0, length));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CorpusReplay, testing::ValuesIn(fuzz::kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace corpus_replay_test
}  // namespace tensorstat
