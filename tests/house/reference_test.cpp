// Doxygen makes a reference of the public headers without a warning. Everything in the C header is documented.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/scratch_folder.hpp"

namespace reference_test {

namespace fs = std::filesystem;

class Reference : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v doxygen >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no doxygen here";
    fs::create_directories(folder_ / "house/stats/bindings");
    // Only the files that Doxygen reads.
    for (const char* part : {"tensorstat", "reference", "bindings/c"}) {
      fs::copy(built::source_dir() + "/stats/" + std::string(part), folder_ / ("house/stats/" + std::string(part)),
               fs::copy_options::recursive);
    }
    fs::create_directory(folder_ / "pages");
  }

  // Doxygen's warnings. A C++ name without a comment is allowed, because the name may be enough.
  std::string warnings() {
    const std::string command = "TENSORSTAT_VERSION=1 TENSORSTAT_SOURCE='" + (folder_ / "house") +
                                "' TENSORSTAT_REFERENCE='" + (folder_ / "pages") + "' doxygen '" +
                                (folder_ / "house/stats/reference/Doxyfile") + "' >'" + (folder_ / "said") + "' 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::istringstream lines(content_of(folder_ / "said"));
    std::string warned;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("is not documented") != line.npos && line.find("tensorstat.h:") == line.npos &&
          line.find("core.h:") == line.npos) {
        continue;
      }
      warned += line + "\n";
    }
    return warned;
  }
  void append(const std::string& header, const std::string& text) {
    std::ofstream(folder_ / ("house/stats/tensorstat/" + header), std::ios::app) << text;
  }

  const ScratchFolder folder_;
};

TEST_F(Reference, HasNoWarning) {
  EXPECT_EQ(warnings(), "");
  const std::string page =
      content_of(folder_ / "pages/html/core_8h.html") + content_of(folder_ / "pages/html/tensorstat_8h.html");
  for (const char* part : {"tensorstat_measure", "An operator by its type", "tensorstat_ticket_collect_partials"}) {
    EXPECT_NE(page.find(part), page.npos) << part;
  }
  EXPECT_TRUE(fs::exists(folder_ / "pages/html/classtensorstat_1_1Meter.html"));
}

TEST_F(Reference, NoticesWhatIsMissing) {
  append("tensorstat.h", "TENSORSTAT_API int tensorstat_new(int number);\n");
  EXPECT_NE(warnings().find("tensorstat_new"), std::string::npos);
}

TEST_F(Reference, NoticesACommandThatIsNone) {
  append("status.hpp", "namespace tensorstat {\n// Of \\nobody's command.\nint f();\n}\n");
  EXPECT_NE(warnings().find("nobody"), std::string::npos);
}

}  // namespace reference_test
