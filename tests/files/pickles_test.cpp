// A file that begins as a pickle of protocol 2 to 5 is refused, with words on how to save tensors instead. A file with
// other first bytes is not taken for a pickle.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "stats/data/files/tensor_source.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace pickles_test {

TEST(Pickles, AreToldByTheirFirstTwoBytes) {
  const ScratchFolder folder;
  const auto is_refused_as_pickle = [&](const std::string& bytes) {
    const std::string path = folder / "file.xyz";
    std::ofstream(path, std::ios::binary) << bytes;
    const auto opened = open_tensors(path, {});
    EXPECT_FALSE(opened);
    return !opened && opened.error().code == Code::kUnsupported &&
           opened.error().message.find("numpy.save") != std::string::npos;
  };
  for (int first = 0; first < 256; ++first) {
    for (const int protocol : {0, 1, 2, 3, 4, 5, 6, 127, 128, 255}) {
      const bool is_pickle = first == 0x80 && protocol >= 2 && protocol <= 5;
      if (first != 0x80 && protocol != 2) continue;
      EXPECT_EQ(is_refused_as_pickle({static_cast<char>(first), static_cast<char>(protocol), '.'}), is_pickle)
          << first << " " << protocol;
    }
  }
  EXPECT_FALSE(is_refused_as_pickle("\x80"));
}

}  // namespace pickles_test
}  // namespace tensorstat
