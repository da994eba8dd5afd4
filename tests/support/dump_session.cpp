#include "tests/support/dump_session.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace tensorstat {

DumpSession SessionTest::open(const std::string& common, const std::string& e2e) {
  auto keys = nlohmann::json{{"path", folder.path()}, {"net_name", "Net"}, {"saved_data", "statistic"}};
  keys.merge_patch(nlohmann::json::parse(common));
  options.log = [this](Severity, std::string_view message) { messages.emplace_back(message); };
  auto session = DumpSession::from_json(config_text(keys.dump(), e2e), options);
  EXPECT_TRUE(session) << session.error().message;
  return session ? std::move(*session) : DumpSession();
}

std::vector<std::string> SessionTest::files() const {
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

std::vector<Row> SessionTest::rows(const std::string& path) const {
  std::vector<Row> rows;
  const auto read =
      read_rows_of_file(folder / path, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  EXPECT_TRUE(read) << path << ": " << read.error().message;
  return rows;
}

bool SessionTest::was_said(const std::string& words) const {
  int times = 0;
  for (const auto& message : messages) times += message.find(words) != message.npos;
  EXPECT_LE(times, 1) << "said more than once: " << words;
  return times == 1;
}

}  // namespace tensorstat
