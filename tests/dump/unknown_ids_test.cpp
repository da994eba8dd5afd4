// A task or stream id that a backend does not give is 65535 in MindSpore's O2 dumps and 0 elsewhere. A given 0 stays 0.
#include <filesystem>
#include <optional>

#include "tests/support/dump_session.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace unknown_ids_test {

class UnknownIds : public SessionTest {
 protected:
  using Id = std::optional<std::uint64_t>;

  // The name of the only file of a session in which one operator ran.
  std::string file_of(DumpSession session, Id stream_id, Id task_id) {
    const std::vector<float> values{1, 2};
    const DumpOperator* const op = session.operator_named("Op", "a", false, stream_id, task_id);
    session.collect({}, op, std::vector{tensor(values, Dtype::kFloat32)});
    session.close();
    std::string name;
    for (const std::string& file : files()) {
      if (file.find(".dump_metadata") == file.npos) name = file.substr(file.rfind('/') + 1);
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      std::filesystem::remove_all(entry.path());
    }
    return name;
  }
};

constexpr const char* kBin = R"({"saved_data": "tensor", "file_format": "bin"})";
constexpr const char* kNpy = R"({"saved_data": "tensor", "file_format": "npy"})";
constexpr const char* kNoE2e = "null";

TEST_F(UnknownIds, Are65535InFilesOfO2) {
  EXPECT_PRED2(test::matches, file_of(open(kBin, kNoE2e), {}, {}), R"(Op\.a\.65535\.65535\.\d{16})");
  EXPECT_PRED2(test::matches, file_of(open(kNpy, kNoE2e), {}, 3), R"(Op\.a\.3\.65535\.\d{16}\.output.*\.npy)");
}

// As MindSpore names them: "Parameter.data-1.0.0".
TEST_F(UnknownIds, AreZeroOfConstants) {
  const std::vector<float> values{1, 2};
  auto session = open(kNpy, kNoE2e);
  const DumpPlace place{.constants = true};
  session.collect(place, session.operator_named("Parameter", "data-1"), std::vector{tensor(values, Dtype::kFloat32)});
  session.collect(place, session.operator_named("Parameter", "data-2", false, 5, 6),
                  std::vector{tensor(values, Dtype::kFloat32)});
  session.close();
  std::vector<std::string> names;
  for (const std::string& file : files()) {
    if (file.find("/constants/") != file.npos) names.push_back(file.substr(file.rfind('/') + 1));
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_PRED2(test::matches, names[0], R"(Parameter\.data-1\.0\.0\.\d{16}\.output.*\.npy)");
  EXPECT_PRED2(test::matches, names[1], R"(Parameter\.data-2\.6\.5\.\d{16}\.output.*\.npy)");
}

TEST_F(UnknownIds, GivenZeroStaysZero) {
  EXPECT_PRED2(test::matches, file_of(open(kBin, kNoE2e), 0, 0), R"(Op\.a\.0\.0\.\d{16})");
  EXPECT_PRED2(test::matches, file_of(open(kNpy, kNoE2e), 0, {}), R"(Op\.a\.65535\.0\.\d{16}\.output.*\.npy)");
}

TEST_F(UnknownIds, AreZeroElsewhere) {
  EXPECT_PRED2(test::matches, file_of(open(R"({"saved_data": "tensor"})"), {}, {}), R"(Op\.a\.0\.0\.\d{16}\.output.*)");
  for (const char* target : {"CPU", "GPU"}) {
    options.device_target = target;
    EXPECT_PRED2(test::matches, file_of(open(kNpy, kNoE2e), {}, {}), R"(Op\.a\.0\.0\.\d{16}\.output.*)") << target;
  }
}

TEST_F(UnknownIds, Are65535InRowsOfO2) {
  const std::vector<float> values{1, 2};
  auto session = open(R"({"file_format": "npy"})", kNoE2e);
  collect(session, {}, "a", {tensor(values, Dtype::kFloat32)});
  session.close();
  const auto table = rows();
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].identity.task_id, 65535u);
  EXPECT_EQ(table[0].identity.stream_id, 65535u);
}

}  // namespace unknown_ids_test
}  // namespace tensorstat
