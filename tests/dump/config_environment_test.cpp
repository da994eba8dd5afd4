// MINDSPORE_DUMP_CONFIG names the config. Without it there is no config and no message.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/config_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace config_environment_test {

class ConfigEnvironment : public testing::Test {
 protected:
  ConfigEnvironment() { unsetenv("MS_DIAGNOSTIC_DATA_PATH"); }
  ~ConfigEnvironment() override { unsetenv("MINDSPORE_DUMP_CONFIG"); }

  std::string fault_of(const std::string& path) {
    setenv("MINDSPORE_DUMP_CONFIG", path.c_str(), 1);
    const auto config = config_from_environment(notices);
    return config ? "" : config.error().message;
  }

  Notices notices{[this](Severity, std::string_view message) { messages.emplace_back(message); }};
  std::vector<std::string> messages;
  ScratchFolder folder;
};

TEST_F(ConfigEnvironment, UnsetOrEmptyIsNoDump) {
  unsetenv("MINDSPORE_DUMP_CONFIG");
  EXPECT_FALSE(config_from_environment(notices)->has_value());
  setenv("MINDSPORE_DUMP_CONFIG", "", 1);
  EXPECT_FALSE(config_from_environment(notices)->has_value());
  EXPECT_TRUE(messages.empty());
}

TEST_F(ConfigEnvironment, ReadsTheFileAndTheOtherVariable) {
  const std::string path = folder / "data_dump.json", text = config_text(R"({"path": ""})");
  std::ofstream(path) << text;
  EXPECT_NE(fault_of(path).find("MS_DIAGNOSTIC_DATA_PATH"), std::string::npos);
  EXPECT_NE(fault_of(path).find(path), std::string::npos);
  setenv("MS_DIAGNOSTIC_DATA_PATH", "/diagnostic", 1);
  const auto config = config_from_environment(notices);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ((*config)->path, "/diagnostic/debug_dump");
  EXPECT_EQ((*config)->text, text) << "kept as it was, for .dump_metadata";
}

TEST_F(ConfigEnvironment, FilesThatCannotBe) {
  std::ofstream(folder / "config.txt") << config_text("{}");
  std::filesystem::create_directory(folder / "folder.json");
  std::ofstream(folder / "large.json") << std::string((16 << 20) + 1, ' ');
  ASSERT_EQ(mkfifo((folder / "pipe.json").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder / "endless.json").c_str()), 0);
  EXPECT_NE(fault_of(folder / "config.txt").find("ends in .json"), std::string::npos);
  EXPECT_NE(fault_of(folder / "none.json").find("No such file"), std::string::npos);
  EXPECT_NE(fault_of(folder / "folder.json").find("is a directory"), std::string::npos);
  EXPECT_NE(fault_of(folder / "large.json").find("at most 16777216"), std::string::npos);
  EXPECT_NE(fault_of(folder / "pipe.json").find("no regular file"), std::string::npos) << "nobody ever writes it";
  EXPECT_NE(fault_of(folder / "endless.json").find("no regular file"), std::string::npos);
}

}  // namespace config_environment_test
}  // namespace tensorstat
