// Any allocation may fail while a config, a file of rows, a file of tensors or a dumped tree is read, once or from then
// on. The result is correct or an error. Nothing is thrown, and the process continues.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/job/dump/replay/replay.hpp"
#include "tests/support/config_text.hpp"
#include "tests/support/held_without_memory.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace reading_out_of_memory_test {

class ReadingOutOfMemory : public testing::Test {
 protected:
  // No driver: its behaviour without memory is not tested.
  static void SetUpTestSuite() { setenv("OCL_ICD_VENDORS", "/nonexistent", 1); }

  // A config with keys of every kind, a duplicate key and an unknown key.
  std::string config(const std::string& saved_data) const {
    std::string text = config_text(R"({"path": ")" + folder_.path() + R"(", "saved_data": ")" + saved_data +
                                   R"J(", "dump_mode": 1, "kernels": ["Conv2D", "name-regex(Default/.*)"],
                                      "statistic_category": ["max", "md5"], "support_device": [0, 1],
                                      "unknown": [[{"key": null}], 1.5, -1]})J");
    return text.insert(text.find("\"net_name\""), "\"input_output\": 1, ");
  }

  std::string file_with(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  // Whether the config was opened as expected. If `refusal` is given, the error must contain it.
  static Result<bool> opened(const Result<DumpSession>& session, std::string_view refusal = "") {
    if (session) return refusal.empty();
    if (session.error().code == Code::kOutOfMemory) return session.error();
    return !refusal.empty() && session.error().message.find(refusal) != std::string::npos;
  }

  static std::string copied(const std::string& text) {
    const Unarmed unarmed;
    return text;
  }

  ScratchFolder folder_;
};

TEST_F(ReadingOutOfMemory, OfAConfig) {
  const std::string right = config("statistic"), path = file_with("data_dump.json", right);
  std::size_t message_count = 0;
  const DumpOptions options{.log = [&](Severity, std::string_view) { ++message_count; }};
  hold("from_json", [&] { return opened(DumpSession::from_json(right, options)); });
  hold("from_file", [&] { return opened(DumpSession::from_file(path, options)); });
  EXPECT_GT(message_count, 0u);
  std::string wrong = right;
  wrong.replace(wrong.find("\"max\""), 5, "\"most\"");
  hold("a wrong value", [&] { return opened(DumpSession::from_json(wrong, options), "statistic_category has"); });
  const std::string longer = right + "x", deep(100, '[');
  hold("wrong syntax", [&] { return opened(DumpSession::from_json(longer, options), "line "); });
  hold("depth", [&] { return opened(DumpSession::from_json(deep, options), "64 levels"); });
}

TEST_F(ReadingOutOfMemory, OfRows) {
  std::string text;
  auto writer = RowWriter::open({.categories = {Category::kMax, Category::kMd5}}, [&](std::string_view lines) {
    text += lines;
    return Status();
  });
  ASSERT_TRUE(writer);
  Row row;
  row.identity.op_name = "Default/a name, that is \"quoted\"";
  row.data_type = "float32";
  row.shape = {2, 3};
  row.statistics = {{Category::kMax, Category::kMd5}, {1.5, *Digest::from("d41d8cd98f00b204e9800998ecf8427e")}};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->write(row));
  const std::string path = file_with("statistic.csv", text);
  std::uint64_t right = 0;
  const EachRow each = [&](Row&& read) {
    right += read.identity.op_name == row.identity.op_name && read.statistics.values == row.statistics.values;
    return Status();
  };
  const auto judged = [&](const Result<RowsRead>& read) -> Result<bool> {
    if (!read) return read.error();
    return read->row_count == 3 && right == 3;
  };
  hold("read_rows", [&] { return right = 0, judged(read_rows(text, each)); });
  hold("read_rows_of_file", [&] { return right = 0, judged(read_rows_of_file(path, each)); });
}

TEST_F(ReadingOutOfMemory, OfTensors) {
  std::string npy = "\x93NUMPY";
  std::string header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  npy += std::string("\1\0", 2) + static_cast<char>(header.size()) + '\0' + header;
  npy += std::string("\1\0\4\0\2\0\5\0\3\0\6\0", 12);  // 1 2 3, 4 5 6
  const std::string in_c_order("\1\0\2\0\3\0\4\0\5\0\6\0", 12);
  std::string tensors = R"({"__metadata__":{"a":"b"},"first":{"dtype":"I16","shape":[2,3],"data_offsets":[0,12]},)"
                        R"("second":{"dtype":"I16","shape":[2,3],"data_offsets":[12,24]}})";
  tensors =
      std::string(1, static_cast<char>(tensors.size())) + std::string(7, '\0') + tensors + in_c_order + in_c_order;
  const std::string paths[] = {file_with("x.npy", npy), file_with("x.safetensors", tensors)};
  for (const std::string& path : paths) {
    const std::size_t count = path.ends_with(".npy") ? 1 : 2;
    hold(path.c_str(), [&]() -> Result<bool> {
      auto source = open_tensors(copied(path), {});
      if (!source) return source.error();
      for (std::size_t i = 0; i < count; ++i) {
        auto tensor = (*source)->next();
        if (!tensor) return false;
        if (!*tensor) return tensor->error();
        (*tensor)->rewind(TensorReader::Order::kC, TensorReader::View::kElements);
        std::byte read[12];
        const auto got = (*tensor)->read(read);
        if (!got) return got.error();
        if (*got != 12 || std::memcmp(read, in_c_order.data(), 12) != 0) return false;
      }
      return !(*source)->next();
    });
  }
}

TEST_F(ReadingOutOfMemory, OfADumpedTree) {
  const std::vector<float> values{1, 2, 3};
  {
    auto session = DumpSession::from_json(config("tensor"), {});
    ASSERT_TRUE(session) << session.error().message;
    const DumpTensor tensor{.tensor = {.dtype = Dtype::kFloat32, .element_count = 3, .address = values.data()},
                            .shape = {3},
                            .io = Io::kInput};
    for (std::uint64_t step = 0; step < 2; ++step) {
      session->collect({.iteration = step}, session->operator_named("Conv2D", "Default/x-op1"), {&tensor, 1});
    }
    ASSERT_TRUE(session->close());
  }
  std::vector<std::string> files;
  std::vector<Error> faults;
  find_tensor_files(folder_.path(), files, faults);
  ASSERT_EQ(files.size(), 2u);
  const std::string text = config("statistic");
  const ScratchFolder replayed;
  std::uint64_t unread = 0;
  const auto fresh_options = [&] {
    const Unarmed unarmed;
    remove_folder(replayed / "rank_0");
    unread = 0;
    return DumpOptions{.dialect = Dialect::kOurs, .path = replayed.path()};
  };
  // The number of rows; nullopt if one of them is wrong.
  const auto rows_left = [&]() -> std::optional<std::uint64_t> {
    std::uint64_t rows = 0, right = 0;
    for (const std::string step : {"0", "1"}) {
      const std::string path = replayed / ("rank_0/ResNet50/0/" + step + "/statistic.csv");
      if (!std::filesystem::exists(path) || content_of(path).empty()) continue;
      const auto read = read_rows_of_file(path, [&](Row&& row) {
        ++rows;
        right += row.statistics.values[0] == Value(3.0);
        return Status();
      });
      if (!read) return {};
    }
    return rows == right ? std::optional(rows) : std::nullopt;
  };
  const ReplayListener listener{[&](const Error&) { ++unread; }, [](std::size_t, std::size_t) {}};
  const auto replays = [&]() -> Result<bool> {
    const auto counters = replay(text, files, fresh_options(), Existing::kReplace, listener);
    const Unarmed unarmed;
    const auto rows = rows_left();
    if (!rows) return false;
    if (!counters) return counters.error();
    return counters->row_count == *rows && *rows + unread >= 2;
  };
  hold("replay", replays, Code::kUnwritable);  // if rows are lost, nothing is replaced
}

}  // namespace reading_out_of_memory_test
}  // namespace tensorstat
