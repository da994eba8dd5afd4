// Includes point inward: from a wing of stats/ only to wings below it, and inside a wing only to rooms below. Any other
// include fails here, with its line.
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

// Allowed includes of the files of a wing, beside their own wing, the public headers of their floor and external
// headers. `core/base` alone stands for that room; a wing's name stands for all its rooms.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"precision", {}},
    {"core", {"precision", "api", "catalog"}},
    {"host", {"precision", "api", "catalog", "core/base", "core/engine"}},
    {"kernels-cl", {"precision", "api", "catalog", "core/base", "core/engine"}},
    {"data", {"api", "catalog", "rows-api", "dump-api", "core/base"}},
    {"job", {"api", "catalog", "rows-api", "dump-api", "core/base", "data"}},
    {"answer", {"api", "catalog", "rows-api", "dump-api", "compare-api", "core/base", "data"}},
    {"show", {"api", "catalog", "rows-api", "dump-api", "compare-api", "core/base", "data", "job", "answer"}},
};
// The same for the public headers, and for the one room that needs more than its wing.
const std::map<std::string, std::set<std::string>> kExceptions = {
    {"catalog", {"precision"}},          {"api", {"catalog"}},
    {"rows-api", {"api", "catalog"}},    {"dump-api", {"rows-api", "api", "catalog"}},
    {"compare-api", {"api", "catalog"}}, {"job/attach", {"kernels-cl", "core/engine"}},
};
// The floors of each wing, from below: a room includes those before it. Rooms of one floor may include each other.
const std::map<std::string, std::vector<std::set<std::string>>> kFloors = {
    {"core", {{"base"}, {"engine"}, {"values", "meter"}}},
    {"data", {{"text"}, {"json"}, {"files"}, {"rows"}, {"rules"}, {"survey"}}},
    {"job", {{"alerts"}, {"dump"}, {"attach"}}},
    {"answer", {{"compare", "origin"}, {"msprobe"}, {"store"}, {"findings"}, {"parts"}}},
    {"show", {{"page", "exports"}, {"cli"}}},
};

bool starts(std::string_view path, std::string_view prefix) { return path.substr(0, prefix.size()) == prefix; }

// A wing, and the room in it, if the wing has rooms.
struct Part {
  std::string wing;
  std::string room;
  std::string name() const { return room.empty() ? wing : wing + "/" + room; }
};

// The part that a file belongs to; nullopt if it may include anything.
std::optional<Part> part_of(std::string_view path) {
  if (starts(path, "stats/tensorstat/") && path.ends_with(".inc")) return Part{"catalog", ""};
  if (path == "stats/tensorstat/rows.hpp") return Part{"rows-api", ""};
  if (path == "stats/tensorstat/dump.hpp") return Part{"dump-api", ""};
  if (path == "stats/tensorstat/compare.hpp") return Part{"compare-api", ""};
  if (starts(path, "stats/tensorstat/")) return Part{"api", ""};
  for (const auto& [wing, floors] : kFloors) {
    const std::string folder = "stats/" + wing + "/";
    if (!starts(path, folder)) continue;
    const std::string_view rest = path.substr(folder.size());
    return Part{wing, std::string(rest.substr(0, rest.find('/')))};
  }
  for (const std::string part : {"precision", "host", "kernels-cl"}) {
    if (starts(path, part + "/")) return Part{part, ""};
  }
  return std::nullopt;
}

// The floor of a room in its wing; -1 if the table does not have it.
int floor_of(const Part& part) {
  const auto& floors = kFloors.at(part.wing);
  for (std::size_t floor = 0; floor < floors.size(); ++floor) {
    if (floors[floor].contains(part.room)) return static_cast<int>(floor);
  }
  return -1;
}

bool may_include(const Part& from, const Part& to) {
  if (from.wing == to.wing) {
    if (from.room == to.room) return true;
    return floor_of(from) >= 0 && floor_of(to) >= 0 && floor_of(to) <= floor_of(from);
  }
  for (const auto* table : {&kMayInclude, &kExceptions}) {
    for (const std::string& name : {from.wing, from.name()}) {
      const auto row = table->find(name);
      if (row != table->end() && (row->second.contains(to.wing) || row->second.contains(to.name()))) return true;
    }
  }
  return false;
}

// The path that a line includes, from the root; nullopt for other lines and for system headers.
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
  if (is_nlohmanns && starts(file, "stats/") && !starts(file, "stats/data/json/"))
    return "nlohmann's header stands behind stats/data/json";
  const auto included = included_by(line);
  const auto from = part_of(file);
  if (!included || !from) return "";
  const auto to = part_of(*included);
  if (!to) return *included + " is no path from the root of a part of the library";
  if (may_include(*from, *to)) return "";
  return from->name() + " may not include " + to->name();
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
      if (included_by(line)) ++seen[part_of(file).value_or(Part()).name()];
    }
  }
  // The scan has found all parts.
  for (const char* part : {"api", "host", "kernels-cl", "core/base", "core/engine", "core/meter", "data/json",
                           "data/files", "data/rows", "data/survey", "job/dump", "answer/compare", "answer/store",
                           "answer/findings", "show/page", "show/exports", "show/cli"}) {
    EXPECT_GT(seen[part], 0) << part;
  }
}

// Proves that the test can fail.
TEST(IncludesPointInward, RefusesPlantedLines) {
  const std::pair<const char*, const char*> planted[] = {
      {"precision/round.cpp", "#include \"stats/core/engine/engine.hpp\""},
      {"precision/exact.h", "#include <tensorstat/partial.hpp>"},
      {"stats/tensorstat/meter.hpp", "#include \"stats/core/engine/engine.hpp\""},
      {"stats/tensorstat/meter.hpp", "#include <tensorstat/dump.hpp>"},
      {"stats/tensorstat/rows.hpp", "#include <tensorstat/dump.hpp>"},
      {"stats/core/meter/meter.cpp", "#include <tensorstat/rows.hpp>"},
      {"stats/core/engine/engine.hpp", "#include \"host/simd/cpu.hpp\""},
      {"stats/core/meter/partial.cpp", "  #  include \"host/simd/vectors.h\""},
      {"stats/core/meter/meter.cpp", "#include \"stats/data/rows/column.hpp\""},
      {"host/engine.cpp", "#include \"kernels-cl/driver/device.hpp\""},
      {"host/engine.cpp", "#include \"stats/core/meter/meter.cpp\""},
      {"kernels-cl/launch/engine.cpp", "#include \"host/thread_pool.hpp\""},
      {"kernels-cl/launch/engine.cpp", "#include \"stats/data/rows/column.hpp\""},
      {"stats/data/rows/column.hpp", "#include \"stats/show/cli/report/output.hpp\""},
      {"stats/data/rows/column.hpp", "#include \"precision/round.hpp\""},
      {"stats/data/rows/column.hpp", "#include \"stats/data/survey/survey.hpp\""},
      {"stats/answer/origin/walk.hpp", "#include \"stats/job/dump/session/dump_session.hpp\""},
      {"stats/job/dump/session/dump_work.hpp", "#include \"kernels-cl/launch/engine.hpp\""},
      {"stats/show/cli/main.cpp", "#include \"stats/core/engine/engine.hpp\""},
      {"stats/show/cli/main.cpp", "#include \"output.hpp\""},
      {"stats/show/cli/main.cpp", "#include <nlohmann/json.hpp>"},
  };
  for (const auto& [file, line] : planted) EXPECT_NE("", objection(file, line)) << file << ": " << line;
  const std::pair<const char*, const char*> allowed[] = {
      {"host/engine.cpp", "#include \"stats/core/engine/engine.hpp\""},
      {"host/simd/vectors.h", "#include <immintrin.h>"},
      {"stats/show/cli/main.cpp", "#include \"stats/data/rows/column.hpp\""},
      {"tests/anything.cpp", "#include \"host/thread_pool.hpp\""},
      {"precision/round.cpp", "// #include \"stats/core/engine/engine.hpp\""},
  };
  for (const auto& [file, line] : allowed) EXPECT_EQ("", objection(file, line)) << file << ": " << line;
}

}  // namespace includes_point_inward_test
