// The widest instruction set of the machine is chosen. TENSORSTAT_ISA can only choose a lower one, never one that the
// machine lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "host/simd/cpu.hpp"

namespace tensorstat {
namespace isa_choice_test {

// The variable is read once per process, so each check runs in a new one.
void expect_choice(const std::string& text, Isa wanted) {
  // A program of its own, because another test of this one may have read it.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TENSORSTAT_ISA", text.c_str(), 1);
        const bool right = best_isa() == wanted;
        setenv("TENSORSTAT_ISA", "baseline", 1);
        std::_Exit(right && best_isa() == wanted ? 0 : 1);
      },
      testing::ExitedWithCode(0), "")
      << "TENSORSTAT_ISA=" << text << " is to give " << name(wanted);
}

#if defined(__x86_64__)
// The kernel's description of the processor.
TEST(IsaChoice, IsTheWidestOfTheMachine) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) continue;
  std::istringstream words(line);
  const std::vector<std::string> flags(std::istream_iterator<std::string>(words), {});
  const auto has = [&](std::initializer_list<const char*> all) {
    return std::ranges::all_of(all, [&](const char* each) { return std::ranges::count(flags, each) != 0; });
  };
  const bool has_avx2 = has({"avx2", "fma", "f16c", "bmi1", "bmi2"});
  const bool has_avx512 = has_avx2 && has({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"});
  EXPECT_EQ(runnable_isas().back(), has_avx512 ? Isa::kAvx512 : has_avx2 ? Isa::kAvx2 : Isa::kBaseline);
}
#endif

TEST(IsaChoice, IsTheNamedOneWhereTheMachineHasIt) {
  const Isa widest = runnable_isas().back();
  for (Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    expect_choice(std::string(name(isa)), isa <= widest ? isa : widest);
  }
}

TEST(IsaChoice, IsTheWidestWhereTheNameMeansNothing) {
  for (const char* text : {"", "AVX2", "avx", "avx2 ", "neon"}) {
    expect_choice(text, runnable_isas().back());
  }
}

TEST(IsaChoice, RunnableOnesBeginWithTheBaselineAndWiden) {
  ASSERT_FALSE(runnable_isas().empty());
  EXPECT_EQ(Isa::kBaseline, runnable_isas().front());
  for (std::size_t i = 1; i < runnable_isas().size(); ++i) {
    EXPECT_LT(runnable_isas()[i - 1], runnable_isas()[i]);
  }
}

}  // namespace isa_choice_test
}  // namespace tensorstat
