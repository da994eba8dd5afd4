// If a config asks for Ascend's dump files, a session writes one for each run of an operator. protoc can read it, and a
// replay can. Names that are too long for a file are in mapping.csv and are found again.

#include <cstring>
#include <nlohmann/json.hpp>

#include "stats/data/files/ascend/dump_data.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/job/dump/replay/replay.hpp"
#include "tests/support/dump_data_files.hpp"
#include "tests/support/dump_session.hpp"
#include "tests/support/patterns.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace run_files_test {

using test::protoc;

constexpr const char* kBin = R"({"saved_data": "tensor", "file_format": "bin"})";

class RunFiles : public SessionTest {
 protected:
  DumpSession open_acl(const std::string& members) {
    options.log = [this](Severity, std::string_view message) { messages.emplace_back(message); };
    auto session =
        DumpSession::from_json(R"({"dump": {"dump_path": ")" + folder.path() + R"(", )" + members + "}}", options);
    EXPECT_TRUE(session) << session.error().message;
    return session ? std::move(*session) : DumpSession();
  }

  // protoc's text of the message, and the bytes after it.
  std::pair<std::string, std::string> decoded(const std::string& path) const {
    const std::string text = content_of(folder / path);
    std::uint64_t length = 0;
    if (text.size() < sizeof length) return {};
    std::memcpy(&length, text.data(), sizeof length);
    return {protoc("decode", text.substr(sizeof length, length)), text.substr(sizeof length + length)};
  }

  std::vector<std::string> dump_files() const {
    std::vector<std::string> paths;
    for (std::string& file : files()) {
      if (!file.ends_with("/mapping.csv")) paths.push_back(std::move(file));
    }
    return paths;
  }

  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> truths{0, 1};
  const std::vector<std::uint16_t> halves{0x3c00, 0x4000};
};

TEST_F(RunFiles, OfDataDumpJsonAreAsMindSporeNamesThem) {
  auto session = open(kBin, "null");
  EXPECT_TRUE(session.demands().device_format);
  DumpTensor matrix = tensor(x, Dtype::kFloat32, Io::kInput, 1);
  matrix.shape = {2, 3};
  matrix.format = "NC1HWC0";
  matrix.timestamp_us = 1612439563338023;
  const DumpOperator* op = session.operator_named("Conv 2D", "Default/net.x/Conv2D-op1", false, 7, 2);
  session.collect({}, op, std::vector{tensor(halves, Dtype::kFloat16), matrix});
  EXPECT_TRUE(session.close());
  EXPECT_EQ(session.counters().tensor_count, 2u);
  EXPECT_EQ(session.counters().file_count, 1u);
  const auto left = dump_files();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(test::matches(left[0], R"(rank_0/Net/0/0/Conv_2D\.Default_net_x_Conv2D-op1\.2\.7\.\d{16})")) << left[0];
  const auto [message, bytes] = decoded(left[0]);
  EXPECT_TRUE(test::matches(message, R"(version: "2.0"
dump_time: \d{16}
output \{
  data_type: 2
  format: 2
  shape \{
    dim: 2
  \}
  size: 4
\}
input \{
  shape \{
  \}
\}
input \{
  data_type: 1
  format: 3
  shape \{
    dim: 2
    dim: 3
  \}
  size: 24
\}
op_name: "Default/net.x/Conv2D-op1"
)")) << message;
  EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(x.data()), 24) +
                       std::string(reinterpret_cast<const char*>(halves.data()), 4));
}

TEST_F(RunFiles, BinIsWhatMindSporeTakesWhereNothingIsSaid) {
  auto session = open(R"({"saved_data": "tensor"})", "null");
  collect(session, {}, "x", {tensor(x, Dtype::kFloat32)});
  session.close();
  ASSERT_EQ(dump_files().size(), 1u);
  EXPECT_FALSE(dump_files()[0].ends_with(".npy"));
}

TEST_F(RunFiles, CpuAndGpuWriteNpy) {
  for (const char* target : {"CPU", "GPU"}) {
    options.device_target = target;
    auto session = open(kBin, "null");
    EXPECT_FALSE(session.demands().device_format);
    collect(session, {}, target, {tensor(x, Dtype::kFloat32)});
    session.close();
  }
  ASSERT_EQ(dump_files().size(), 2u);
  for (const std::string& file : dump_files()) EXPECT_TRUE(file.ends_with(".DefaultFormat.float32.npy")) << file;
}

TEST_F(RunFiles, OfAclJsonLieInTheFoldersOfTheModel) {
  auto session = open_acl(R"("dump_mode": "all", "dump_list": [{"model_name": "Res.Net"}])");
  collect(session, {.device = 1, .graph = 2, .iteration = 3}, "conv",
          {tensor(x, Dtype::kFloat32, Io::kInput), tensor(halves, Dtype::kBfloat16)});
  EXPECT_TRUE(session.close());
  const auto left = dump_files();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(test::matches(left[0], R"(\d{14}/1/Res_Net/2/3/Op\.conv\.0\.0\.\d{16})")) << left[0];
  EXPECT_NE(decoded(left[0]).first.find("data_type: 27"), std::string::npos);
}

TEST_F(RunFiles, OfTorchAirsOptionsLieInTheFolderOfTheRank) {
  options.world_size = 4;
  auto session = open_acl(R"("dump_mode": "all", "quant_dumpable": "0", "dump_list": [{"model_name": "m"}])");
  collect(session, {.rank = 3, .device = 1}, "conv", {tensor(x, Dtype::kFloat32)});
  EXPECT_TRUE(session.close());
  ASSERT_EQ(dump_files().size(), 1u);
  EXPECT_TRUE(test::matches(dump_files()[0], R"(worldsize4_global_rank3/\d{14}/1/m/0/0/Op\.conv\.0\.0\.\d+)"))
      << dump_files()[0];
}

// Each type is read back with the bits that were handed over.
TEST_F(RunFiles, EveryTypeIsReadBack) {
  auto session = open(kBin, "null");
  std::vector<std::byte> bits(32);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::byte>(i * 37 + 0x80);
  std::map<std::string, std::string> handed;  // by data type
  std::uint32_t slot = 0;
  std::vector<DumpTensor> tensors;
  for (const Dtype dtype : samples::all_dtypes()) {
    if (dump_dtype(name(dtype)) == nullptr) continue;
    DumpTensor one;
    one.tensor = {.dtype = dtype, .element_count = 2, .address = bits.data()};
    one.shape = {1, 2};
    one.slot = slot++;
    tensors.push_back(one);
    handed[std::string(name(dtype))] = std::string(reinterpret_cast<const char*>(bits.data()), 2 * size_bytes(dtype));
  }
  for (const auto& [stored, type, bytes] : {std::tuple(Stored::kInt4, "int4", 1),
                                            {Stored::kUint1, "uint1", 1},
                                            {Stored::kComplex64, "complex64", 16},
                                            {Stored::kComplex128, "complex128", 32}}) {
    DumpTensor one;
    one.tensor = {.address = bits.data()};
    one.shape = {2};
    one.slot = slot++;
    one.stored = stored;
    tensors.push_back(one);
    handed[type] = std::string(reinterpret_cast<const char*>(bits.data()), static_cast<std::size_t>(bytes));
  }
  collect(session, {}, "x", tensors);
  EXPECT_TRUE(session.close());
  const auto left = dump_files();
  ASSERT_EQ(left.size(), 1u);
  std::map<std::string, std::string> there;
  auto source = open_tensors(folder / left[0], {});
  ASSERT_TRUE(source) << source.error().message;
  while (auto reader = (*source)->next()) {
    ASSERT_TRUE(*reader) << reader->error().message;
    (*reader)->rewind(TensorReader::Order::kC, TensorReader::View::kOriginal);
    std::string text((*reader)->data_size_bytes(), '\0');
    const auto got = (*reader)->read(std::as_writable_bytes(std::span(text)));
    ASSERT_TRUE(got);
    there[std::string((*reader)->data_type())] = text.substr(0, *got);
  }
  EXPECT_EQ(there, handed);
}

TEST_F(RunFiles, ATypeThatAscendDoesNotKnowIsSaid) {
  auto session = open(kBin, "null");
  collect(session, {}, "x", {tensor(truths, Dtype::kFloat8E4m3fnuz)});
  EXPECT_TRUE(session.close());
  ASSERT_EQ(dump_files().size(), 1u);
  EXPECT_EQ(decoded(dump_files()[0]).second, (std::string{0, 1}));
  EXPECT_TRUE(was_said("Ascend's dump files have no type float8_e4m3fnuz"));
}

TEST_F(RunFiles, ASlotThatComesAgainHasAFileOfItsOwn) {
  auto session = open(kBin, "null");
  collect(session, {}, "x", {tensor(x, Dtype::kFloat32), tensor(halves, Dtype::kFloat16)});
  collect(session, {}, "x", {});
  collect(session, {}, "x", {tensor(x, Dtype::kFloat32)});
  EXPECT_TRUE(session.close());
  EXPECT_EQ(dump_files().size(), 3u);
  EXPECT_EQ(session.counters().tensor_count, 3u);
}

TEST_F(RunFiles, ASlotBeyondTheMessageIsSaidAndLost) {
  auto session = open(kBin, "null");
  collect(session, {}, "x", {tensor(x, Dtype::kFloat32, Io::kInput, 4'000'000'000)});
  EXPECT_FALSE(session.close());
  EXPECT_TRUE(dump_files().empty());
  EXPECT_TRUE(was_said("slot 4000000000 is above what a dump file can hold"));
  EXPECT_EQ(session.counters().lost_tensor_count, 1u);
}

TEST_F(RunFiles, ALongNameIsFoundAgainByEveryReader) {
  const std::string long_name(300, 'n');
  for (const bool is_stats : {false, true}) {
    auto session =
        open_acl(std::string(R"("dump_op_switch": "on", "dump_data": ")") + (is_stats ? "stats" : "tensor") + "\"");
    collect(session, {}, long_name, {tensor(x, Dtype::kFloat32)});
    EXPECT_TRUE(session.close()) << (messages.empty() ? "" : messages.back());
  }
  std::string dumped, rows_file;
  for (const std::string& file : dump_files()) {
    const std::string name = std::filesystem::path(file).filename();
    EXPECT_TRUE(test::matches(name, R"(\d{32}(\.csv)?)")) << name;
    (name.ends_with(".csv") ? rows_file : dumped) = file;
  }
  ASSERT_FALSE(dumped.empty() || rows_file.empty());
  const std::string mapping = content_of(std::filesystem::path(folder / dumped).parent_path() / kMappingFile);
  EXPECT_NE(mapping.find(std::filesystem::path(dumped).filename().string() + ",Op." + long_name + ".0.0."),
            std::string::npos)
      << mapping;
  ASSERT_EQ(rows(rows_file).size(), 1u);
  EXPECT_EQ(rows(rows_file)[0].identity.op_name, long_name);
  EXPECT_EQ(rows(rows_file)[0].identity.op_type, "Op");

  std::vector<std::string> paths;
  std::vector<Error> faults;
  find_tensor_files(folder.path(), paths, faults);
  ASSERT_EQ(paths, std::vector{folder / dumped}) << "a walk knows the number";
  const ScratchFolder out;
  DumpOptions replaying;
  replaying.dialect = Dialect::kOurs;
  const auto counters =
      replay(config_text(nlohmann::json{{"path", out.path()}, {"net_name", "Net"}, {"saved_data", "statistic"}}.dump()),
             paths, replaying, Existing::kRefuse,
             {[](const Error& error) { ADD_FAILURE() << error.message; }, [](std::size_t, std::size_t) {}});
  ASSERT_TRUE(counters) << counters.error().message;
  std::string names;
  const auto read = read_rows_of_file(out / "rank_0/Net/0/0/statistic.csv",
                                      [&](Row&& row) { return names += row.identity.op_name, Status(); });
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_EQ(names, long_name);
}

// A replay does not convert a device's format, whatever trans_flag is: the name gives the actual format.
TEST_F(RunFiles, AReplayNamesTheFormatThatIsThere) {
  {
    auto session = open(kBin, "null");
    std::vector<DumpTensor> tensors(3, tensor(x, Dtype::kFloat32, Io::kInput));
    for (std::uint32_t slot = 0; slot < 3; ++slot) tensors[slot].slot = slot;
    tensors[0].format = "NC1HWC0";
    tensors[1].format = "NCHW";
    collect(session, {}, "a", tensors);
    EXPECT_TRUE(session.close());
  }
  // First Ascend's dump file, then the .npy files converted from it.
  std::string from = folder.path();
  const ScratchFolder first, second;
  for (const ScratchFolder* out : {&first, &second}) {
    std::vector<std::string> paths, names;
    std::vector<Error> faults;
    find_tensor_files(from, paths, faults);
    const auto config =
        config_text(nlohmann::json{{"path", out->path()}, {"net_name", "Net"}, {"saved_data", "tensor"}}.dump(), "{}");
    DumpOptions replayed;
    std::string log;
    replayed.log = [&](Severity, std::string_view message) { log.append(message).append("\n"); };
    const ReplayListener listener{[](const Error& error) { ADD_FAILURE() << error.message; },
                                  [](std::size_t, std::size_t) {}};
    ASSERT_TRUE(replay(config, paths, replayed, Existing::kRefuse, listener));
    std::vector<std::string> written;
    find_tensor_files(out->path(), written, faults);
    std::ranges::sort(written);
    ASSERT_EQ(written.size(), 3u);
    EXPECT_NE(written[0].find(".input.0.NC1HWC0.float32.npy"), std::string::npos) << written[0];
    EXPECT_NE(written[1].find(".input.1.DefaultFormat.float32.npy"), std::string::npos) << written[1];
    EXPECT_NE(written[2].find(".input.2.DefaultFormat.float32.npy"), std::string::npos) << written[2];
    EXPECT_NE(log.find("a device's format and are written as they are"), std::string::npos) << log;
    EXPECT_NE(log.find("NC1HWC0"), std::string::npos) << log;
    from = out->path();
  }
}

// A replay with the same config writes the same files.
TEST_F(RunFiles, AReplayWritesThemAgain) {
  {
    auto session = open(kBin, "null");
    DumpTensor of_device = tensor(x, Dtype::kFloat32, Io::kInput, 2);
    of_device.format = "NC1HWC0";
    collect(session, {.iteration = 3}, "a", {of_device, tensor(halves, Dtype::kFloat16)});
    collect(session, {.iteration = 3}, std::string(300, 'n'), {tensor(x, Dtype::kFloat32)});
    EXPECT_TRUE(session.close());
  }
  std::vector<std::string> paths;
  std::vector<Error> faults;
  find_tensor_files(folder.path(), paths, faults);
  ASSERT_EQ(paths.size(), 2u);
  const ScratchFolder out;
  const auto config = config_text(
      nlohmann::json{{"path", out.path()}, {"net_name", "Net"}, {"saved_data", "tensor"}, {"file_format", "bin"}}
          .dump(),
      "null");
  const ReplayListener listener{[](const Error& error) { ADD_FAILURE() << error.message; },
                                [](std::size_t, std::size_t) {}};
  const auto contents = [](const std::string& below) {
    std::multiset<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(below)) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && name != kMappingFile && !name.ends_with(".json"))
        all.insert(content_of(entry.path()));
    }
    return all;
  };
  ASSERT_TRUE(replay(config, paths, {}, Existing::kRefuse, listener));
  EXPECT_EQ(contents(out.path()), contents(folder.path()));
  const auto refused = replay(config, paths, {}, Existing::kRefuse, listener);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is there already"), std::string::npos) << refused.error().message;
  const auto replaced = replay(config, paths, {}, Existing::kReplace, listener);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(contents(out.path()), contents(folder.path())) << "and the long name keeps its number";
}

}  // namespace run_files_test
}  // namespace tensorstat
