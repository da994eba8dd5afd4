// The man pages and the completions are made from the command's own options. Each option in --help-all is in them. man
// reads the pages without a warning, and bash, zsh and fish complete with them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"

namespace tensorstat {
namespace manual_test {

using test::holds;
using test::Ran;
using test::run;

const std::string kMan = built::man_folder(), kCompletions = built::completions_folder();

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string said(const std::string& command) {
  const ScratchFolder folder;
  const int status =
      std::system(("(HOME='" + folder.path() + "' " + command + ") >'" + (folder / "said") + "' 2>&1").c_str());
  return content_of(folder / "said") + (status == 0 ? "" : "\nfailed\n");
}

// The options in a help text, such as "--stats".
std::set<std::string> flags_in(const std::string& help) {
  std::set<std::string> flags;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t column = line.find("--");
    if (line.starts_with("  -") && column < 8)
      flags.insert(line.substr(column, line.find_first_of(" ,", column) - column));
  }
  return flags;
}

std::string without_backslashes(std::string text) {
  std::erase(text, '\\');
  return text;
}

TEST(Manual, HasEveryOption) {
  const ScratchFolder folder;
  const auto options = flags_in(run(folder, "--help-all").out), dumps = flags_in(run(folder, "dump --help").out);
  EXPECT_GT(options.size(), 10u);
  EXPECT_GT(dumps.size(), 5u);
  const std::string page = without_backslashes(content_of(kMan + "/man1/tensorstat.1"));
  const std::string dump_page = without_backslashes(content_of(kMan + "/man1/tensorstat-dump.1"));
  for (const std::string& each : options) EXPECT_PRED2(holds, page, "fB" + each + "fR");
  for (const std::string& each : dumps) EXPECT_PRED2(holds, dump_page, "fB" + each + "fR");
  for (const char* file : {"tensorstat", "_tensorstat", "tensorstat.fish"}) {
    const std::string text = content_of(kCompletions + "/" + file);
    const std::string dashes = std::string(file) == "tensorstat.fish" ? "-l " : "--";
    for (const auto& set : {options, dumps}) {
      for (const std::string& each : set) EXPECT_PRED2(holds, text, dashes + each.substr(2)) << file;
    }
  }
}

TEST(Manual, EachSubcommandHasAPageWithItsOptions) {
  const ScratchFolder folder;
  for (const std::string name : {"explain", "devices", "dump", "convert", "diff", "origin"}) {
    const std::string page = without_backslashes(content_of(kMan + "/man1/tensorstat-" + name + ".1"));
    EXPECT_PRED2(holds, page, "tensorstat-" + name + " - ");
    EXPECT_PRED2(holds, page, "fBtensorstat " + name + "fR [fIOPTIONfR]...");
    for (const std::string& each : flags_in(run(folder, name + " --help").out))
      EXPECT_PRED2(holds, page, "fB" + each + "fR");
  }
}

TEST(Manual, SynopsesShowWhatIsRequired) {
  const std::string page = without_backslashes(content_of(kMan + "/man1/tensorstat.1"));
  for (const char* line :
       {"fBtensorstatfR [fIOPTIONfR]... fIPATHfR...\n", "fBtensorstat difffR [fIOPTIONfR]... fIAfR [fIBfR]\n",
        "fBtensorstat originfR [fIOPTIONfR]... fIDUMPfR\n", "fBtensorstat dumpfR [fIOPTIONfR]... fIPATHfR...\n",
        "fBtensorstat convertfR [fIOPTIONfR]... fB--outputfR fIOUTfR fB--tofR "}) {
    EXPECT_PRED2(holds, page, line);
  }
  EXPECT_PRED2(holds, page, "fBtensorstat explainfR [fIOPTIONfR]... [fI") << "needs no name";
}

std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> paths;
  for (const char* section : {"man1", "man5"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kMan + "/" + section)) paths.push_back(entry.path());
  }
  return paths;
}

TEST(Manual, ManReadsThePagesWithoutAWarning) {
  if (!has("man")) GTEST_SKIP() << "there is no man here";
  for (const auto& page : pages()) {
    EXPECT_EQ(said("LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z " + page.string() +
                   " 2>&1 >/dev/null"),
              "")
        << page;
  }
  EXPECT_PRED2(holds, said("LC_ALL=C.UTF-8 MANWIDTH=80 man -E UTF-8 -l " + kMan + "/man5/statistic.csv.5"),
               "the square root of the sum of x * x");
}

TEST(Manual, EveryPageIsInstalled) {
  const std::string rules = content_of(built::build_dir() + "/stats/show/cli/manual/cmake_install.cmake");
  if (rules.find("tensorstat.1") == rules.npos) GTEST_SKIP() << "this build installs nothing";
  EXPECT_GE(pages().size(), 10u);
  for (const auto& page : pages()) EXPECT_PRED2(holds, rules, "/" + page.filename().string() + "\"");
}

TEST(Manual, BashCompletes) {
  if (!has("bash")) GTEST_SKIP() << "there is no bash here";
  const ScratchFolder folder;  // empty, so that no file names are completed
  const auto complete = [&](const std::string& words, int cursor) {
    return said("cd " + folder.path() + " && bash -c 'source " + kCompletions + "/tensorstat; COMP_WORDS=(tensorstat " +
                words + "); COMP_CWORD=" + std::to_string(cursor) + "; _tensorstat 2>/dev/null; echo ${COMPREPLY[*]}'");
  };
  EXPECT_EQ(complete("x.npy --format \"\"", 3), "table csv json ndjson md\n");
  EXPECT_EQ(complete("--stats max,l2", 2), "max,l2norm\n");
  EXPECT_EQ(complete("--fail", 1), "--fail-on\n");
  EXPECT_EQ(complete("dump --dia", 2), "--dialect\n");
  EXPECT_EQ(complete("dump --dialect mindspore-n", 3), "mindspore-next\n");
  EXPECT_EQ(complete("explain nan", 2), "nan-count nan-alone-count\n");
  EXPECT_EQ(complete("devic", 1), "devices\n");
}

// In a zsh behind a pseudo-terminal, because zsh completes only interactively.
TEST(Manual, ZshCompletes) {
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh here";
  const ScratchFolder folder;
  std::ofstream(folder / "complete.zsh") << R"(zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; setopt no_beep; stty columns 200"
zpty -w shell 'echo READY$((1+1))'
zpty -r shell said '*READY2*'
zpty -w -n shell "$2"$'\t'
zpty -w shell '; echo DONE$((1+1))'
zpty -r shell said '*DONE2*'
print -r -- "$said"
zpty -d shell
)";
  const auto complete = [&](const std::string& line) {
    return said("timeout 60 zsh -f " + (folder / "complete.zsh") + " " + kCompletions + " '" + line + "'");
  };
  EXPECT_PRED2(holds, complete("tensorstat x.npy --precision h"), "--precision high");
  EXPECT_PRED2(holds, complete("tensorstat dump --dialect mindspore-n"), "mindspore-next");
  EXPECT_PRED2(holds, complete("tensorstat --fail-"), "--fail-on");
  EXPECT_PRED2(holds, complete("tensorstat explain finite-c"), "finite-count");
}

TEST(Manual, FishCompletes) {
  if (!has("fish")) GTEST_SKIP() << "there is no fish here";
  const auto complete = [](const std::string& line) {
    return said("fish --no-config -c 'source " + kCompletions + "/tensorstat.fish; complete -C \"" + line + "\"'");
  };
  EXPECT_PRED2(holds, complete("tensorstat x.npy --format nd"), "ndjson\t");
  EXPECT_PRED2(holds, complete("tensorstat --stats max,l2"), "max,l2norm\t");
  EXPECT_PRED2(holds, complete("tensorstat dump --dialect mindspore-n"), "mindspore-next\t");
  EXPECT_PRED2(holds, complete("tensorstat explain nan"), "nan-count\t");
  EXPECT_PRED2(holds, complete("tensorstat devic"), "devices\t");
  EXPECT_FALSE(holds(complete("tensorstat dump --f"), "--fail-on"));
}

}  // namespace manual_test
}  // namespace tensorstat
