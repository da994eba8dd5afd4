// A dump session with msprobe's config in a folder of its own.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/dump_session.hpp"
#include "tests/support/json_text.hpp"

namespace tensorstat {

class MsprobeSessionTest : public SessionTest {
 protected:
  // `common` is merged over a config that dumps the statistics of every API; `task` into the task's section.
  DumpSession open(const std::string& common = "{}", const std::string& task = "{}") {
    auto root = nlohmann::json{{"task", "statistics"}, {"dump_path", folder.path()}, {"level", "L1"}};
    root.merge_patch(test::parsed_json(common));
    root[root["task"].get<std::string>()] = test::parsed_json(task);
    options.log = [this](Severity, std::string_view message) { messages.emplace_back(message); };
    auto session = DumpSession::from_json(root.dump(), options);
    EXPECT_TRUE(session) << session.error().message;
    return session ? std::move(*session) : DumpSession();
  }

  nlohmann::ordered_json json_of(const std::string& path) const {
    return test::parsed_in_order(content_of(folder / path));
  }
  // The keys of `data`, in order.
  std::vector<std::string> keys(const std::string& path = "step0/rank0/dump.json") const {
    std::vector<std::string> keys;
    const auto root = json_of(path);
    for (const auto& [key, value] : root.at("data").items()) keys.push_back(key);
    return keys;
  }

  using Keys = std::vector<std::string>;
  const std::vector<float> values{1, 2};
};

}  // namespace tensorstat
