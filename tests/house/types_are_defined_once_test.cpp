// No two types of the library have the same name in the same namespace. Two definitions in one program are undefined
// behaviour, and a file that includes both headers does not compile.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/built.hpp"
#include "tests/support/patterns.hpp"

namespace types_are_defined_once_test {

namespace fs = std::filesystem;
using tensorstat::test::Pattern;

// The types that a text defines at namespace scope, with their namespaces. Types in unnamed namespaces are left out.
// Needs the format of .clang-format: what is at namespace scope begins its line.
std::vector<std::string> types_of(std::istream& text) {
  static const Pattern opens(R"(^namespace\s*([\w:]*)\s*\{)"), closes(R"(^\}  // namespace)");
  static const Pattern defines(
      R"(^(?:struct|class|union|enum class|enum)\s+(?:alignas\(\w+\)\s+)?(\w+(?:::\w+)*)[^;]*\{)");
  static const Pattern names(R"(^using (\w+) =)");
  std::vector<std::string> types, around;
  for (std::string line; std::getline(text, line);) {
    if (const auto match = opens.first_in(line); !match.empty()) {
      around.push_back(match[1]);
    } else if (!closes.first_in(line).empty()) {
      if (!around.empty()) around.pop_back();
    } else {
      auto type = defines.first_in(line);
      if (type.empty()) type = names.first_in(line);
      if (type.empty()) continue;
      std::string scope;
      bool is_own = false;
      for (const std::string& each : around) {
        is_own |= each.empty();
        scope += each + "::";
      }
      if (!is_own && !scope.empty()) types.push_back(scope + type[1]);
    }
  }
  return types;
}

TEST(TypesAreDefinedOnce, InEverySource) {
  std::map<std::string, std::set<std::string>> files_of;
  for (const char* folder : {"precision", "stats", "host", "kernels-cl"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(built::source_dir()) / folder)) {
      const std::string kind = entry.path().extension();
      // An .inc is compiled once for each instruction set, in a namespace of its own.
      if (kind != ".hpp" && kind != ".cpp") continue;
      std::ifstream text(entry.path());
      const std::string file = fs::relative(entry.path(), built::source_dir());
      for (const std::string& type : types_of(text)) files_of[type].insert(file);
    }
  }
  EXPECT_GT(files_of.size(), 300u) << "the scan has seen the house";
  for (const auto& [type, files] : files_of) {
    std::string list;
    for (const std::string& file : files) list += "\n  " + file;
    EXPECT_EQ(files.size(), 1u) << type << " is defined in" << list;
  }
}

// Proves that the test can fail.
TEST(TypesAreDefinedOnce, SeesWhatStandsAtNamespaceScope) {
  std::istringstream text(
      "namespace tensorstat {\nnamespace {\nstruct Own {\n};\n}  // namespace\nstruct Field {\n  struct Inner {\n  "
      "};\n};\n"
      "class Declared;\nenum class Which : int { kOne };\nusing Name = int;\nnamespace host {\nclass Pool final : A "
      "{\n};\n"
      "}  // namespace host\n}  // namespace tensorstat\n");
  EXPECT_EQ(types_of(text), (std::vector<std::string>{"tensorstat::Field", "tensorstat::Which", "tensorstat::Name",
                                                      "tensorstat::host::Pool"}));
}

}  // namespace types_are_defined_once_test
