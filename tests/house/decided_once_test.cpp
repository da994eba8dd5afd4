// Whether a row shows NaN or Inf is decided in stats/data/rules/specials alone, which pass a name tells in
// stats/data/rows/names/direction, and which kind of tensor a row has in row_kind beside it. A second place would
// answer otherwise one day.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/built.hpp"
#include "tests/support/patterns.hpp"

namespace decided_once_test {

namespace fs = std::filesystem;
using tensorstat::test::Pattern;

struct Knowledge {
  const char* what;
  std::vector<std::string_view> words;  // a line that asks has one of them: std::regex is slow
  Pattern asked;
  std::vector<std::string> at_home;  // files and folders that may ask; the first one answers
};

const std::vector<Knowledge>& all_knowledge() {
  static const std::vector<Knowledge> all = {
      // To look a count up in a row, to test a value of max or min, or to list the counts in a condition.
      {"NaN or Inf of a row",
       {"NanCount", "InfCount", "isnan(", "isinf(", "counts_specials", "has_nan", "has_inf", "shows_"},
       Pattern(R"((find|count_in|counted|value_of|as_double)\([^()]*k(Nan|PositiveInf|NegativeInf)Count)"
               R"(|[=!]= (Category::)?k(Nan|PositiveInf|NegativeInf)Count)"
               R"(|is(nan|inf)\([^()]*\.(max|min|avg|l2norm)\b)"
               R"(|bool (counts_specials|has_nan|has_inf|shows_nan|shows_inf)\([^;{]*(Statistics|Category|Row\b))"),
       {"stats/data/rules/specials.cpp", "stats/data/rules/specials.hpp",
        "stats/data/rules/rule.cpp",          // which word a rule is
        "stats/data/rules/subject.cpp",       // the counts that a word needs
        "stats/answer/findings/history.cpp",  // keeps the counts, to show them
        "stats/show/exports/", "stats/core/meter/", "stats/data/rows/monitors/"}},
      {"the pass that a name tells",
       {"backward", "forward", "Gradients", "parameters_grad"},
       Pattern(R"re((with|find|substr|compare|endswith|startswith|removesuffix|removeprefix|take_end|rfind)\(\s*)re"
               R"re(f?["'][^"']*([/._](backward|forward)["'./]|Gradients|parameters_grad))re"
               R"re(|=\s*"[/._](backward|forward)")re"),
       {"stats/data/rows/names/",
        "stats/answer/msprobe/",                       // msprobe's own rules, as it has them
        "stats/bindings/python/tensorstat/_calls.py",  // the same for the names that the watch itself makes
        "stats/data/rows/dump_json/"}},                // keys of dump.json, not names of rows
      // The Python package writes these types.
      {"the kind of tensor that a row has",
       {"\"Parameter\"", "\"Gradient\"", "\"ParameterUpdate\"", "\"OptimizerState\"", "\"ModuleBuffer\"", "\"Loss\""},
       Pattern(R"re([=!]= "(Parameter|Gradient|ParameterUpdate|OptimizerState|ModuleBuffer|Loss)")re"
               R"re(|[{,]\s*"(Parameter|Gradient|OptimizerState|ModuleBuffer)",\s*")re"),
       {"stats/data/rows/names/row_kind.cpp",
        "stats/show/page/contents.cpp",  // a loss that another program named
        "stats/bindings/python/", "stats/examples/"}},
  };
  return all;
}

bool is_at_home(const std::string& file, const std::vector<std::string>& homes) {
  for (const std::string& home : homes) {
    if (file == home || (home.ends_with('/') && file.starts_with(home))) return true;
  }
  return false;
}

// "line: text" of each place that asks.
std::vector<std::string> places_in(std::istream& text, const Knowledge& knowledge) {
  std::vector<std::string> places;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    const auto first = line.find_first_not_of(" \t");
    if (first == line.npos || line.compare(first, 2, "//") == 0 || line[first] == '#') continue;
    const auto is_in_line = [&](std::string_view word) { return line.find(word) != line.npos; };
    if (std::ranges::none_of(knowledge.words, is_in_line)) continue;
    if (!knowledge.asked.first_in(line).empty()) places.push_back(std::to_string(number) + ": " + line);
  }
  return places;
}

TEST(DecidedOnce, InEverySource) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(built::source_dir()) / "stats")) {
    const std::string kind = entry.path().extension();
    if (kind != ".hpp" && kind != ".cpp" && kind != ".py") continue;
    ++files;
    const std::string file = fs::relative(entry.path(), built::source_dir());
    for (const Knowledge& knowledge : all_knowledge()) {
      if (is_at_home(file, knowledge.at_home)) continue;
      std::ifstream text(entry.path());
      for (const std::string& place : places_in(text, knowledge)) {
        ADD_FAILURE() << file << ":" << place << "\n  decides " << knowledge.what << "; ask "
                      << knowledge.at_home.front();
      }
    }
  }
  EXPECT_GT(files, 500u) << "the scan has seen the house";
}

// Proves that the test can fail: how the places looked that disagreed.
TEST(DecidedOnce, SeesASecondPlace) {
  for (const char* line : {"  if (category == Category::kNanCount) faults |= DumpTensor::kHasNan;",
                           "  return {count_in(statistics, Category::kNanCount),",
                           "  if (kind.has(kHasAbsmax)) return std::isnan(cell.max) || std::isnan(cell.min);",
                           "bool counts_specials(Category category) {",
                           "  const Value* above = statistics.find(Category::kPositiveInfCount);"}) {
    std::istringstream text(line);
    EXPECT_EQ(places_in(text, all_knowledge()[0]).size(), 1u) << line;
  }
  for (const char* line :
       {"name.ends_with(\"/backward\") || name.find(\".backward.\") != name.npos;",
        "name.ends_with(\".backward\") || name.starts_with(\"Gradients/\");",
        "  constexpr std::string_view kBackward = \"/backward\";", "    name = name.removesuffix(\"/forward\")",
        "    } else if (take_end(\".parameters_grad\")) {"}) {
    std::istringstream text(line);
    EXPECT_EQ(places_in(text, all_knowledge()[1]).size(), 1u) << line;
  }
  for (const char* line : {"  facts.has_loss |= record.texts()[row.op_type] == \"Loss\";",
                           "    if (type != \"Parameter\" && type != \"Gradient\") continue;",
                           "  constexpr std::string_view kOfNoCall[] = {\"Parameter\", \"ModuleBuffer\"};"}) {
    std::istringstream text(line);
    EXPECT_EQ(places_in(text, all_knowledge()[2]).size(), 1u) << line;
  }
  std::istringstream written(
      "  return stem + (is_backward ? \".backward\" : \".forward\");\n  // ends_with(\"/backward\")\n");
  EXPECT_TRUE(places_in(written, all_knowledge()[1]).empty()) << "to write a name is no question";
}

}  // namespace decided_once_test
