// Everything that the documents name exists: every link and its heading, every option of the command, every statistic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/built.hpp"
#include "tests/support/patterns.hpp"
#include "tests/support/scratch_folder.hpp"

namespace documents_test {

namespace fs = std::filesystem;

const std::string kTool = built::build_dir() + "/" + built::bin() + "/tensorstat";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Document {
  fs::path path;
  std::string text;
  std::string prose;                   // the text without code blocks
  std::set<std::string> anchors = {};  // of the headings
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || (c & 0x80); }

// The anchor that GitHub makes of a heading.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') anchor += '-';
    if (is_word(c)) anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

Document read(const fs::path& path) {
  Document document{path, content_of(path.string()), ""};
  bool is_code = false;
  for (const std::string& line : lines_of(document.text)) {
    if (line.starts_with("```")) is_code = !is_code;
    if (is_code || line.starts_with("```") || line.starts_with("    ")) continue;
    document.prose += line + '\n';
    if (!line.starts_with('#')) continue;
    const std::string anchor = anchor_of(line.substr(std::min(line.size(), line.find_first_not_of('#') + 1)));
    std::string free = anchor;
    for (int again = 1; !document.anchors.insert(free).second; ++again) free = anchor + "-" + std::to_string(again);
  }
  return document;
}

const std::map<fs::path, Document>& documents() {
  static const auto all = [] {
    std::map<fs::path, Document> pages;
    for (fs::recursive_directory_iterator it(built::source_dir()), end; it != end; ++it) {
      if (it->is_directory() && it->path().filename().string().starts_with('.')) it.disable_recursion_pending();
      if (it->path().extension() == ".md") pages.emplace(it->path(), read(it->path()));
    }
    return pages;
  }();
  return all;
}

// The output of a program, stdout and stderr.
std::string said(const std::string& command) {
  const ScratchFolder folder;
  if (std::system((command + " >'" + (folder / "said") + "' 2>&1").c_str()) != 0) ADD_FAILURE() << command;
  return content_of(folder / "said");
}

// The options in a text: --word, if no word ends just before it.
std::set<std::string> options_in(const std::string& text) {
  std::set<std::string> options;
  for (std::size_t start = 0; (start = text.find("--", start)) != text.npos; start += 2) {
    if (start > 0 && (is_word(text[start - 1]) || text[start - 1] == '/')) continue;
    std::size_t end = start + 2;
    while (end < text.size() && (std::islower(static_cast<unsigned char>(text[end])) || text[end] == '-' ||
                                 (end > start + 2 && std::isdigit(static_cast<unsigned char>(text[end]))))) {
      ++end;
    }
    while (text[end - 1] == '-' && end > start) --end;
    if (end > start + 2) options.insert(text.substr(start, end - start));
  }
  return options;
}

const std::map<std::string, std::set<std::string>>& options_of_command() {
  static const auto all = [] {
    std::map<std::string, std::set<std::string>> options{{"", options_in(said("'" + kTool + "' --help-all"))}};
    for (const std::string name : {"diff", "origin", "dump", "convert", "devices", "explain", "store", "report",
                                   "trend", "top", "events", "attach", "plan", "fold", "merge"}) {
      options[name] = options_in(said("'" + kTool + "' " + name + " --help"));
    }
    return options;
  }();
  return all;
}

TEST(Documents, LinksLeadSomewhere) {
  ASSERT_GT(documents().size(), 10u);
  for (const auto& [path, document] : documents()) {
    for (std::size_t position = 0; (position = document.prose.find("](", position)) != std::string::npos; ++position) {
      const std::string link = document.prose.substr(position + 2, document.prose.find(')', position) - position - 2);
      if (link.find("://") != link.npos || link.find_first_of(" \n") != link.npos) continue;
      const std::string file = link.substr(0, link.find('#'));
      const fs::path target = file.empty() ? path : (path.parent_path() / file).lexically_normal();
      EXPECT_TRUE(fs::exists(target)) << path << ": " << link;
      if (link.find('#') == link.npos || target.extension() != ".md" || !documents().contains(target)) continue;
      EXPECT_TRUE(documents().at(target).anchors.contains(link.substr(link.find('#') + 1))) << path << ": " << link;
    }
  }
}

// Options of the command, of the project's scripts, or of other programs that a document calls.
TEST(Documents, OptionsAreThere) {
  // Names of apt-get, cmake, mypy, Oclgrind, pip and pkg-config.
  std::set<std::string> known{
      "--build",   "--install", "--strict", "--target",   "--uninitialized", "--no-build-isolation",
      "--no-deps", "--cflags",  "--libs",   "--no-remove"};
  for (const auto& [name, options] : options_of_command()) known.insert(options.begin(), options.end());
  for (const fs::path folder :
       {built::source_dir() + "/tests", built::source_dir() + "/bench", built::source_dir() + "/stats"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const bool is_script = entry.path().extension().empty() || entry.path().extension() == ".py";
      if (!is_script || !entry.is_regular_file()) continue;
      const std::string text = content_of(entry.path().string());
      if (text.starts_with("#!")) known.merge(options_in(text));
    }
  }
  for (const auto& [path, document] : documents()) {
    for (const std::string& option : options_in(document.text)) {
      EXPECT_TRUE(known.contains(option)) << path << " names " << option << ", which nothing takes";
    }
  }
}

// A line or a span of code that calls the command may use only options of its subcommand.
TEST(Documents, CommandsAreRight) {
  static const tensorstat::test::Pattern call("(^|[ `(|])tensorstat( [^#`|&;]*)");
  int seen = 0;
  for (const auto& [path, document] : documents()) {
    for (const std::string& line : lines_of(document.text)) {
      for (const auto& match : call.all_in(line)) {
        std::istringstream words(match[2]);
        std::string name;
        words >> name;
        const auto entry = options_of_command().find(name);
        const auto& options = entry == options_of_command().end() ? options_of_command().at("") : entry->second;
        for (const std::string& option : options_in(match[2])) {
          ++seen;
          EXPECT_TRUE(options.contains(option)) << path << ": tensorstat " << name << " has no " << option;
        }
      }
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(Documents, EveryStatisticIsExplained) {
  const std::string text = content_of(built::source_dir() + "/stats/doc/statistics.md");
  int seen = 0;
  for (const std::string& line : lines_of(said("'" + kTool + "' explain --all"))) {
    const std::size_t end = line.find(", in statistic.csv ");
    if (end == line.npos) continue;
    ++seen;
    EXPECT_NE(text.find('`' + line.substr(0, end) + '`'), text.npos) << line.substr(0, end);
  }
  EXPECT_GT(seen, 40);
}

}  // namespace documents_test
