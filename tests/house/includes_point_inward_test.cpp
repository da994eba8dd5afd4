// Includes point inward: precision <- stats/engine <- kernels-cl, host and stats/meter. Above the meter are json,
// files, rows, survey and dump, compare, the store and the command. Any other include fails here, with its line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/built.hpp"

namespace includes_point_inward_test {

namespace fs = std::filesystem;

// The parts that each part may include, beside itself and external headers. `api`: the core's public headers.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"precision", {}},
    {"catalog", {"precision"}},
    {"api", {"catalog"}},
    {"base", {"api", "catalog", "precision"}},
    {"engine", {"base", "api", "catalog", "precision"}},
    {"meter", {"engine", "base", "api", "catalog", "precision"}},
    {"host", {"engine", "base", "api", "catalog", "precision"}},
    {"kernels-cl", {"engine", "base", "api", "catalog", "precision"}},
    {"rows-api", {"api", "catalog"}},
    {"dump-api", {"rows-api", "api", "catalog"}},
    {"compare-api", {"api", "catalog"}},
    {"json", {"base", "api", "catalog"}},
    {"files", {"json", "base", "api", "catalog"}},
    {"rows", {"files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"rules", {"rows", "files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"alerts", {"rules", "rows", "files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"survey", {"rules", "rows", "files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"parts", {"survey", "rules", "rows", "files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"dump", {"alerts", "rules", "rows", "files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"compare",
     {"compare-api", "survey", "dump", "rules", "rows", "files", "json", "base", "rows-api", "dump-api", "api",
      "catalog"}},
    {"store",
     {"compare-api", "compare", "survey", "dump", "rules", "rows", "files", "json", "base", "rows-api", "dump-api",
      "api", "catalog"}},
    {"findings",
     {"compare-api", "compare", "survey", "dump", "rules", "rows", "files", "json", "base", "rows-api", "dump-api",
      "api", "catalog"}},
    {"page",
     {"findings", "compare-api", "compare", "survey", "dump", "rules", "rows", "files", "json", "base", "rows-api",
      "dump-api", "api", "catalog"}},
    {"attach",
     {"kernels-cl", "engine", "rules", "rows", "files", "json", "base", "rows-api", "dump-api", "api", "catalog"}},
    {"exports",
     {"findings", "compare-api", "compare", "survey", "dump", "rules", "rows", "files", "json", "base", "rows-api",
      "dump-api", "api", "catalog"}},
    {"cli",
     {"attach", "page",  "exports", "parts", "findings", "store", "compare-api", "compare",  "survey", "dump",
      "alerts", "rules", "rows",    "files", "json",     "base",  "rows-api",    "dump-api", "api",    "catalog"}},
};

bool starts(std::string_view path, std::string_view prefix) { return path.substr(0, prefix.size()) == prefix; }

// The part that a file belongs to; nullopt if it may include anything.
std::optional<std::string> part_of(std::string_view path) {
  if (path == "stats/tensorstat/catalog.inc" || path == "stats/tensorstat/pair.inc") return "catalog";
  if (path == "stats/tensorstat/rows.hpp") return "rows-api";
  if (path == "stats/tensorstat/dump.hpp") return "dump-api";
  if (path == "stats/tensorstat/compare.hpp") return "compare-api";
  if (starts(path, "stats/tensorstat/")) return "api";
  for (const std::string room : {"base", "engine", "meter", "json", "files", "rows", "rules", "alerts", "survey",
                                 "parts", "dump", "compare", "store", "findings", "page", "exports", "attach", "cli"}) {
    if (starts(path, "stats/" + room + "/")) return room;
  }
  for (const std::string part : {"precision", "host", "kernels-cl"}) {
    if (starts(path, part + "/")) return part;
  }
  return std::nullopt;
}

// The path that a line includes, from the root; nullopt if it is no include, or not one of ours.
std::optional<std::string> included_by(std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  const auto take = [&](std::string_view word) {
    skip_blanks();
    if (!starts(line, word)) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!take("#") || !take("include")) return std::nullopt;
  skip_blanks();
  const bool quoted = starts(line, "\"");
  if (!quoted && !starts(line, "<tensorstat/")) return std::nullopt;
  line.remove_prefix(1);
  const std::string path(line.substr(0, line.find_first_of("\">")));
  return quoted ? path : "stats/" + path;
}

// Why a file may not have this line; empty if it may.
std::string objection(const std::string& file, std::string_view line) {
  const bool is_nlohmanns = line.find("#include <nlohmann/") != line.npos;
  if (is_nlohmanns && starts(file, "stats/") && !starts(file, "stats/json/"))
    return "nlohmann's header stands behind stats/json";
  const auto included = included_by(line);
  const auto from = part_of(file);
  if (!included || !from) return "";
  const auto to = part_of(*included);
  if (!to) return *included + " is no path from the root of a part of the library";
  if (*to == *from || kMayInclude.at(*from).contains(*to)) return "";
  return *from + " may not include " + *to;
}

std::vector<std::string> sources() {
  static const std::set<std::string> kinds = {".hpp", ".cpp", ".h", ".inc", ".cl"};
  std::vector<std::string> files;
  for (const char* folder : {"precision", "stats", "host", "kernels-cl"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(built::source_dir()) / folder)) {
      if (kinds.contains(entry.path().extension())) files.push_back(fs::relative(entry.path(), built::source_dir()));
    }
  }
  return files;
}

TEST(IncludesPointInward, InEverySource) {
  const auto files = sources();
  std::map<std::string, int> seen;  // our includes, by part
  for (const std::string& file : files) {
    std::ifstream stream(fs::path(built::source_dir()) / file);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      EXPECT_EQ("", objection(file, line)) << file << ":" << number << ": " << line;
      if (included_by(line)) ++seen[part_of(file).value_or("")];
    }
  }
  // The scan has found all parts.
  for (const char* part : {"api", "base", "engine", "meter", "host", "kernels-cl", "json", "files", "rows", "survey",
                           "dump", "compare", "store", "findings", "page", "exports", "cli"}) {
    EXPECT_GT(seen[part], 0) << part;
  }
}

// Proves that the test can fail.
TEST(IncludesPointInward, RefusesPlantedLines) {
  const std::pair<const char*, const char*> planted[] = {
      {"precision/round.cpp", "#include \"stats/engine/engine.hpp\""},
      {"precision/exact.h", "#include <tensorstat/partial.hpp>"},
      {"stats/tensorstat/meter.hpp", "#include \"stats/engine/engine.hpp\""},
      {"stats/tensorstat/meter.hpp", "#include <tensorstat/dump.hpp>"},
      {"stats/tensorstat/rows.hpp", "#include <tensorstat/dump.hpp>"},
      {"stats/meter/meter.cpp", "#include <tensorstat/rows.hpp>"},
      {"stats/engine/engine.hpp", "#include \"host/simd/cpu.hpp\""},
      {"stats/meter/partial.cpp", "  #  include \"host/simd/vectors.h\""},
      {"stats/meter/meter.cpp", "#include \"stats/rows/column.hpp\""},
      {"host/engine.cpp", "#include \"kernels-cl/driver/device.hpp\""},
      {"host/engine.cpp", "#include \"stats/meter/meter.cpp\""},
      {"kernels-cl/launch/engine.cpp", "#include \"host/thread_pool.hpp\""},
      {"kernels-cl/launch/engine.cpp", "#include \"stats/rows/column.hpp\""},
      {"stats/rows/column.hpp", "#include \"stats/cli/report/output.hpp\""},
      {"stats/rows/column.hpp", "#include \"precision/round.hpp\""},
      {"stats/cli/main.cpp", "#include \"stats/engine/engine.hpp\""},
      {"stats/cli/main.cpp", "#include \"output.hpp\""},
      {"stats/cli/main.cpp", "#include <nlohmann/json.hpp>"},
  };
  for (const auto& [file, line] : planted) EXPECT_NE("", objection(file, line)) << file << ": " << line;
  const std::pair<const char*, const char*> allowed[] = {
      {"host/engine.cpp", "#include \"stats/engine/engine.hpp\""},
      {"host/simd/vectors.h", "#include <immintrin.h>"},
      {"stats/cli/main.cpp", "#include \"stats/rows/column.hpp\""},
      {"tests/anything.cpp", "#include \"host/thread_pool.hpp\""},
      {"precision/round.cpp", "// #include \"stats/engine/engine.hpp\""},
  };
  for (const auto& [file, line] : allowed) EXPECT_EQ("", objection(file, line)) << file << ": " << line;
}

}  // namespace includes_point_inward_test
