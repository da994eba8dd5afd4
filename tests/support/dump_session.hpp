// A dump session in a folder of its own, and what it left there.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/rows/statistic_csv.hpp"
#include "tests/support/config_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {

class SessionTest : public testing::Test {
 protected:
  // `common` and `e2e` are merged over a config that wants the statistics of everything.
  DumpSession open(const std::string& common = "{}", const std::string& e2e = "{}") {
    auto keys =
        nlohmann::json{{"path", folder.path()}, {"net_name", "Net"}, {"saved_data", "statistic"}};
    keys.merge_patch(nlohmann::json::parse(common));
    options.log = [this](Severity, std::string_view message) { said.emplace_back(message); };
    auto session = DumpSession::from_json(config_text(keys.dump(), e2e), options);
    EXPECT_TRUE(session) << session.error().message;
    return session ? std::move(*session) : DumpSession();
  }

  template <typename T>
  static DumpTensor tensor(const std::vector<T>& values, Dtype dtype, Io io = Io::kOutput,
                           std::uint32_t slot = 0) {
    DumpTensor tensor;
    tensor.tensor = {.dtype = dtype, .element_count = values.size(), .address = values.data()};
    tensor.shape = {values.size()};
    tensor.io = io;
    tensor.slot = slot;
    return tensor;
  }

  void collect(DumpSession& session, const DumpPlace& place, const std::string& name,
               const std::vector<DumpTensor>& tensors, bool failed = false) {
    session.collect(place, session.operator_named("Op", name), tensors, failed);
  }

  // Every file below the folder, by its path from there.
  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (!entry.is_regular_file()) continue;
      const auto path = std::filesystem::relative(entry.path(), folder.path()).string();
      if (path.find(".dump_metadata") == path.npos && path.find("execution_order") == path.npos) {
        files.push_back(path);
      }
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  std::vector<Row> rows(const std::string& path = "rank_0/Net/0/0/statistic.csv") const {
    std::vector<Row> rows;
    const auto read =
        read_rows_of_file(folder / path, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
    EXPECT_TRUE(read) << path << ": " << read.error().message;
    return rows;
  }

  bool was_said(const std::string& words) const {
    int times = 0;
    for (const auto& message : said) times += message.find(words) != message.npos;
    EXPECT_LE(times, 1) << "said more than once: " << words;
    return times == 1;
  }

  ScratchFolder folder;
  DumpOptions options;
  std::vector<std::string> said;
};

}  // namespace tensorstat
