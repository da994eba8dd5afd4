// libtensorstat.so works for C11, and for C++14 with the old ABI: both build a whole dump backend. It exports exactly
// the functions in its headers.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "tests/c/declared_functions.hpp"
#include "tests/support/built.hpp"
#include "tests/support/scratch_folder.hpp"

namespace c_library_test {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "";
  for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (const int status = pclose(pipe); status != 0) text += "\nended with status " + std::to_string(status);
  return text;
}

// Two steps with two rows each. The NaN is in the expected row.
void expect_rows(const std::string& folder) {
  const std::string clean = content_of(folder + "/rank_0/Net/0/0/statistic.csv");
  const std::string with_nan = content_of(folder + "/rank_0/Net/0/2/statistic.csv");
  EXPECT_NE(clean.find("\"(2,2)\",2,0\n"), clean.npos) << clean;
  EXPECT_NE(with_nan.find("\"(2,2)\",nan,1\n"), with_nan.npos) << with_nan;
  EXPECT_EQ(content_of(folder + "/rank_0/Net/0/1/statistic.csv"), "");
  EXPECT_EQ(content_of(folder + "/rank_0/execution_order/ms_execution_order_graph_0.csv"),
            "NodeExecutionOrder-FullNameWithScope\nDefault/net/Conv2D-op0\nDefault/net/ReLU-op1\n");
  bool has_arguments = false;
  for (const auto& each : std::filesystem::directory_iterator(folder + "/rank_0/Net/0/2")) {
    has_arguments = has_arguments || content_of(each.path()).find("\"alpha\": \"0.5\"") != std::string::npos;
  }
  EXPECT_TRUE(has_arguments);
}

TEST(CLibrary, ServesC11) {
  const ScratchFolder folder;
  EXPECT_EQ(output_of(built::backend_c11() + " " + folder.path()), "");
  expect_rows(folder.path());
}

TEST(CLibrary, ServesCxx14OfTheOldAbi) {
  const ScratchFolder folder;
  EXPECT_EQ(output_of(built::backend_old_abi() + " " + folder.path()), "");
  expect_rows(folder.path());
}

// With the old ABI, a program with the C++ headers would link and then abort. So the headers stop the compilation.
TEST(CLibrary, IsNamedWhereTheOldAbiMeetsTheHeadersOfCxx) {
  const std::string output = output_of("echo '#include <tensorstat/meter.hpp>' | '" + built::compiler() +
                                       "' -std=c++20 -D_GLIBCXX_USE_CXX11_ABI=0 -I '" + built::source_dir() +
                                       "/stats' -fsyntax-only -x c++ -");
  EXPECT_NE(output.find("use <tensorstat/tensorstat.h>"), output.npos) << output;
}

// Compares the library's exported names with the functions in the headers.
TEST(CLibrary, ExportsItsHeadersAndNothingElse) {
  std::set<std::string> exported, declared;
  std::istringstream symbols(output_of("nm -D --defined-only " + built::c_library()));
  for (std::string address, kind, name; symbols >> address >> kind >> name;) {
    if (kind != "A") exported.insert(name.substr(0, name.find('@')));
  }
  for (const char* header : {"core.h", "tensorstat.h"}) {
    declared.merge(functions_of(content_of(built::source_dir() + "/stats/tensorstat/" + header)));
  }
  EXPECT_GT(declared.size(), 40u);
  EXPECT_EQ(exported, declared);
}

}  // namespace c_library_test
