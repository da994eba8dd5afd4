// libtensorstat-core.so is enough for a C program that measures. It needs no library of files, rows or stores, and is
// small. It exports the functions of <tensorstat/core.h>; what else it exports has a version that only libtensorstat.so
// of the same release asks for, which has no second core inside.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "tests/c/declared_functions.hpp"
#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_folder.hpp"

namespace core_library_test {

namespace fs = std::filesystem;
using tensorstat::test::run;

std::string core_library() { return fs::path(built::c_library()).parent_path() / "libtensorstat-core.so"; }

// What a program prints.
std::string printed(const ScratchFolder& folder, const std::string& program, const std::string& arguments) {
  const auto ran = run(folder, arguments, "", program);
  EXPECT_EQ(ran.exit, 0) << program << " " << arguments << "\n" << ran.err;
  return ran.out;
}

// The names of these kinds in nm's lines "address kind name", without versions.
std::set<std::string> symbols(const ScratchFolder& folder, const std::string& arguments, const std::string& kinds) {
  std::set<std::string> names;
  std::istringstream lines(printed(folder, "nm", arguments));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, kind, name;
    if (words >> address >> kind >> name && kinds.find(kind) != kinds.npos)
      names.insert(name.substr(0, name.find('@')));
  }
  return names;
}

TEST(CoreLibrary, IsEnoughForAProgramThatMeasures) {
  if (kSanitized) GTEST_SKIP() << "the program has no sanitizer's library";
  const ScratchFolder folder;
  std::string program = content_of(built::source_dir() + "/stats/examples/measure.c");
  const std::string whole = "tensorstat/tensorstat.h";
  program.replace(program.find(whole), whole.size(), "tensorstat/core.h");
  std::ofstream(folder / "measure.c") << program;
  const std::string libraries = fs::path(core_library()).parent_path();
  printed(folder, "cc",
          "measure.c -o measure -I '" + built::source_dir() + "/stats' -L '" + libraries +
              "' -ltensorstat-core -Wl,-rpath,'" + libraries + "'");
  EXPECT_NE(printed(folder, "./measure", "").find("max: nan\ncount: 6\nnan count: 1\n"), std::string::npos);
}

TEST(CoreLibrary, NeedsTheSystemAlone) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's libraries are needed, too";
  const ScratchFolder folder;
  std::istringstream lines(printed(folder, "readelf", "-d '" + core_library() + "'"));
  // Devices and digests load OpenCL's loader and libcrypto when they are first needed.
  const std::set<std::string> allowed = {"c", "m", "gcc_s", "dl", "pthread", "stdc++", "tensorstat_core"};
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == line.npos) continue;
    const std::size_t begin = line.find('[') + 1;
    const std::string library = line.substr(begin, line.find(']') - begin);
    ++needed;
    if (library.rfind("ld-linux", 0) == 0) continue;
    EXPECT_TRUE(allowed.contains(library.substr(3, library.find(".so") - 3))) << library;
  }
  EXPECT_GT(needed, 0);
}

// A driver of OpenCL may call the library back after the program has closed it.
TEST(CoreLibrary, StaysLoaded) {
  const ScratchFolder folder;
  EXPECT_NE(printed(folder, "readelf", "-d '" + core_library() + "'").find("NODELETE"), std::string::npos);
}

TEST(CoreLibrary, IsSmall) {
  if (kSanitized) GTEST_SKIP() << "sanitizers add code";
  const ScratchFolder folder;
  printed(folder, "strip", "-o stripped '" + core_library() + "'");
  EXPECT_LT(fs::file_size(folder / "stripped"), 6u << 20);
}

TEST(CoreLibrary, ExportsItsHeaderAndWhatTheWholeLibraryTakesFromIt) {
  const ScratchFolder folder;
  const std::set<std::string> declared = functions_of(content_of(built::source_dir() + "/stats/tensorstat/core.h"));
  EXPECT_GT(declared.size(), 40u);
  std::set<std::string> exported;
  std::istringstream lines(printed(folder, "nm", "-D --defined-only '" + core_library() + "'"));
  for (std::string address, kind, name; lines >> address >> kind >> name;) {
    if (kind == "A") continue;
    const std::string version = name.substr(name.find('@'));
    if (version == "@@TENSORSTAT_" + built::major()) {
      exported.insert(name.substr(0, name.find('@')));
    } else {
      EXPECT_EQ(version, "@@TENSORSTAT_INTERNAL_" + built::version()) << name;
    }
  }
  EXPECT_EQ(exported, declared);
}

TEST(CoreLibrary, IsTheOnlyCoreOfTheWholeLibrary) {
  if (!built::library().ends_with(".a")) GTEST_SKIP() << "the core of C++ is a shared library here";
  const ScratchFolder folder;
  const auto core = symbols(folder, "--defined-only '" + built::library() + "'", "TDB");
  const auto whole = symbols(folder, "--defined-only '" + built::c_library() + "'", "TtDdBb");
  EXPECT_GT(core.size(), 400u);
  EXPECT_GT(whole.size(), 400u);
  for (const std::string& name : core) EXPECT_FALSE(whole.contains(name)) << name;
}

}  // namespace core_library_test
