// Every public header compiles with the warnings that users may have enabled. tests/CMakeLists.txt enables them for
// this file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tensorstat/alerts.hpp>
#include <tensorstat/by.hpp>
#include <tensorstat/catalog.hpp>
#include <tensorstat/catalog_ids.hpp>
#include <tensorstat/collective.hpp>
#include <tensorstat/compare.hpp>
#include <tensorstat/dlpack.hpp>
#include <tensorstat/dump.hpp>
#include <tensorstat/findings.hpp>
#include <tensorstat/installation.hpp>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <tensorstat/rows.hpp>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "tests/support/built.hpp"

namespace public_headers_test {

TEST(PublicHeaders, AreAllIncludedHere) {
  std::ostringstream text;
  text << std::ifstream(built::source_dir() + "/tests/house/public_headers_test.cpp").rdbuf();
  int headers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(built::source_dir() + "/stats/tensorstat")) {
    // mpi.hpp needs the user's MPI; tests/meter/mpi_ranks.cpp compiles it.
    if (entry.path().extension() != ".hpp" || entry.path().filename() == "mpi.hpp") continue;
    ++headers;
    const std::string include = "#include <tensorstat/" + entry.path().filename().string() + ">";
    EXPECT_NE(text.str().find(include), std::string::npos) << include;
  }
  EXPECT_GT(headers, 5);
}

}  // namespace public_headers_test
