// The findings of a run are the same through C, C++ and the command, and a page comes only where it is asked.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <tensorstat/findings.hpp>

#include "tests/support/built.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_findings_test {

using Answer = std::unique_ptr<tensorstat_answer, decltype(&tensorstat_answer_free)>;

// A tensor with values near 1, and 500 at iteration 40.
void write_jump(const ScratchFolder& folder) {
  for (int iteration = 0; iteration < 60; ++iteration) {
    const std::filesystem::path place =
        std::filesystem::path(folder.path()) / "rank_0/net/0" / std::to_string(iteration);
    std::filesystem::create_directories(place);
    const double size = iteration == 40 ? 500 : 1 + iteration % 7 / 10.0;
    std::ofstream(place / "statistic.csv")
        << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm "
           "Value\n"
        << "Add,add,0,0," << 1000 + iteration << ",output,0,64,float32,\"(16)\"," << size << ",-1," << 3 * size << "\n";
  }
}

Answer asked(const std::string& path, const char* limits, bool with_page) {
  tensorstat_findings_options options = TENSORSTAT_FINDINGS_OPTIONS;
  options.limits = limits;
  options.page = with_page ? 1 : 0;
  tensorstat_answer* answer = nullptr;
  EXPECT_EQ(tensorstat_findings(path.c_str(), &options, &answer), TENSORSTAT_OK) << tensorstat_last_error();
  return {answer, tensorstat_answer_free};
}

std::string said_by_command(const std::string& arguments) {
  std::string text;
  std::array<char, 4096> piece{};
  FILE* pipe = popen((built::command() + " report " + arguments).c_str(), "r");
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), count);
  pclose(pipe);
  return text;
}

TEST(CFindings, AreThoseOfTheCommandAndOfCpp) {
  const ScratchFolder folder;
  write_jump(folder);
  const std::string path = folder.path();
  const Answer answer = asked(path, nullptr, true);
  const std::string json = tensorstat_answer_json(answer.get());
  EXPECT_EQ(tensorstat_answer_found(answer.get()), 1);
  EXPECT_EQ(tensorstat_answer_fault(answer.get(), 0), nullptr);
  EXPECT_EQ(json, said_by_command("--format json '" + path + "'"));
  EXPECT_EQ(tensorstat_answer_page(answer.get()), said_by_command("--format html '" + path + "'"));
  const auto result = findings(path);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(json_of(*result), json);
  EXPECT_EQ(text_of(*result), said_by_command("'" + path + "'"));
  ASSERT_EQ(result->list.size(), 1u);
  EXPECT_EQ(name(result->list[0].rule), "jump");
  EXPECT_EQ(result->list[0].first_iteration, 40u);
  EXPECT_EQ(test::parsed_json(json)["findings"][0]["limit"], *result->list[0].limit);
}

TEST(CFindings, LimitsAreTakenAndTheirFaultsAreSaid) {
  const ScratchFolder folder;
  write_jump(folder);
  const Answer calm = asked(folder.path(), "jump=1e6,overflow=0.9", false);
  EXPECT_EQ(tensorstat_answer_found(calm.get()), 0);
  EXPECT_EQ(tensorstat_answer_page(calm.get()), nullptr);
  tensorstat_answer* none = nullptr;
  for (const char* limits : {"jump", "jump=0", "nan=1", "jump=20,", "jump=20,leap=1"}) {
    tensorstat_findings_options options = TENSORSTAT_FINDINGS_OPTIONS;
    options.limits = limits;
    const bool is_fault = std::string_view(limits) != "jump=20,";  // a comma may end a list
    EXPECT_EQ(tensorstat_findings(folder.path().c_str(), &options, &none) != TENSORSTAT_OK, is_fault) << limits;
    if (!is_fault) tensorstat_answer_free(none);
  }
  EXPECT_EQ(findings(folder.path(), {.limits = {{FindingRule::kNan, 3}}}).error().code, Code::kInvalid);
  EXPECT_EQ(findings(folder.path(), {.limits = {{FindingRule::kJump, -1}}}).error().code, Code::kInvalid);
}

// A store goes where a folder goes, whole or one of its runs.
TEST(CFindings, AStoreIsReadAsItsDumps) {
  const ScratchFolder folder;
  write_jump(folder);
  const std::string store = folder / "runs.db";
  const std::string add = built::command() + " store add '" + store + "' '" + folder.path() + "' --run monday 2>&1";
  FILE* pipe = popen(add.c_str(), "r");
  std::string output;
  for (int each; (each = std::fgetc(pipe)) != EOF;) output += static_cast<char>(each);
  if (pclose(pipe) != 0) GTEST_SKIP() << "no store can be made here: " << output;
  const auto of_folder = test::parsed_json(tensorstat_answer_json(asked(folder.path(), nullptr, false).get()));
  EXPECT_EQ(of_folder["findings"].size(), 1u);
  for (const std::string& path : {store, store + "//monday"}) {
    const Answer answer = asked(path, nullptr, false);
    EXPECT_EQ(test::parsed_json(tensorstat_answer_json(answer.get()))["findings"], of_folder["findings"]) << path;
  }
  tensorstat_answer* none = nullptr;
  EXPECT_EQ(tensorstat_findings((store + "//tuesday").c_str(), nullptr, &none), TENSORSTAT_UNREADABLE);
  EXPECT_NE(std::string(tensorstat_last_error()).find("tuesday"), std::string::npos) << tensorstat_last_error();
}

TEST(CFindings, WhatIsMissingIsSaid) {
  tensorstat_answer* none = nullptr;
  EXPECT_EQ(tensorstat_findings("/nowhere/at/all", nullptr, &none), TENSORSTAT_UNREADABLE);
  EXPECT_NE(std::string(tensorstat_last_error()).find("no such file"), std::string::npos);
  EXPECT_EQ(tensorstat_findings(nullptr, nullptr, &none), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_findings("/nowhere", nullptr, nullptr), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_answer_page(nullptr), nullptr);
  tensorstat_findings_options options = {};
  EXPECT_EQ(tensorstat_findings("/nowhere", &options, &none), TENSORSTAT_INVALID);
}

}  // namespace c_findings_test
}  // namespace tensorstat
