// The command for its users: its output, its files, its exit statuses.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat {
namespace command_test {

using nlohmann::json;
using test::holds;
using test::line_count;
using test::npy;
using test::Ran;
using test::run;
using test::write_file;

std::string floats(const std::string& shape, std::string_view data) {
  return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

const std::string kOne = floats("(1,)", std::string_view("\0\0\x80\x3f", 4));          // 1.0
const std::string kNan = floats("(2,)", std::string_view("\0\0\xc0\x7f\0\0\0\0", 8));  // nan, 0.0

TEST(Command, JsonHoldsEveryField) {
  ScratchFolder folder;
  const std::string dump = "Add.Default_Add-op0.3.4.1733905446819790.input.1.DefaultFormat.float32.npy";
  write_file(folder / dump, kNan);
  write_file(folder / "z.npy", floats("(0, 3)", ""));
  const Ran ran = run(folder, ". --format json --stats all --on host");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const json document = test::parsed_json(ran.out);
  EXPECT_EQ(document.at("schema_version"), 1);
  ASSERT_EQ(document.at("tensors").size(), 2u);
  const json& add = document["tensors"][0];
  EXPECT_EQ(add.at("path"), "./" + dump);
  EXPECT_EQ(add.at("op_type"), "Add");
  EXPECT_EQ(add.at("op_name"), "Default_Add-op0");
  EXPECT_EQ(add.at("task_id"), 3);
  EXPECT_EQ(add.at("stream_id"), 4);
  EXPECT_EQ(add.at("timestamp"), 1733905446819790);
  EXPECT_EQ(add.at("io"), "input");
  EXPECT_EQ(add.at("slot"), 1);
  EXPECT_EQ(add.at("dtype"), "float32");
  EXPECT_EQ(add.at("shape"), json({2}));
  EXPECT_EQ(add.at("bytes"), 8);
  EXPECT_EQ(add.at("placement").at("nan count"), "host");
  EXPECT_EQ(add.at("stats").at("nan count"), 1);
  EXPECT_EQ(add.at("stats").at("zero count"), 1);
  EXPECT_EQ(add.at("stats").at("max"), "nan");
  EXPECT_EQ(add.at("stats").size(), 12u);
  EXPECT_FALSE(add.contains("reasons"));
  const json& empty = document["tensors"][1];
  EXPECT_TRUE(empty.at("stats").at("max").is_null());
  EXPECT_TRUE(empty.at("stats").at("avg").is_null());
  EXPECT_EQ(empty.at("stats").at("l2norm"), 0.0);
  EXPECT_EQ(empty.at("stats").at("count"), 0);
  EXPECT_EQ(empty.at("op_name"), "z");
}

TEST(Command, JsonNumbersAreTheDigitsOfTheCsv) {
  ScratchFolder folder;
  write_file(folder / "a.npy", floats("(1,)", std::string_view("\xcd\xcc\xcc\x3d", 4)));  // 0.1f
  write_file(folder / "odd \xff\"name.npy", kOne);
  const Ran ran = run(folder, ". --format json --stats max,l2norm,count --on host");
  EXPECT_PRED2(holds, ran.out, "\"stats\":{\"max\":0.10000000149011612,\"l2norm\":");
  EXPECT_PRED2(holds, ran.out, "\"stats\":{\"max\":1,\"l2norm\":1,\"count\":1}}");
  EXPECT_EQ(test::parsed_json(ran.out)["tensors"][1]["path"], "./odd \xef\xbf\xbd\"name.npy");
}

TEST(Command, NdjsonIsAnObjectALine) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  write_file(folder / "b.npy", kNan);
  const Ran ran = run(folder, "b.npy a.npy --format ndjson --stats max,avg --explain --on host");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  ASSERT_EQ(line_count(ran.out), 2u);
  const json first = test::parsed_json(ran.out.substr(0, ran.out.find('\n')));
  const json second = test::parsed_json(ran.out.substr(ran.out.find('\n')));
  EXPECT_EQ(first.at("path"), "b.npy");  // the order of the arguments
  EXPECT_EQ(second.at("stats"), (json{{"max", 1.0}, {"avg", 1.0}}));
  EXPECT_TRUE(second.at("reasons").at("max").is_string());
  EXPECT_TRUE(second.at("device_bytes").is_number());
}

TEST(Command, TheTableIsAlignedAndPlainWithoutATerminal) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  write_file(folder / "long_name.npy", kNan);
  const Ran ran = run(folder, ". --stats max,nan-count --on host");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "                                      nan\n"
            "tensor         dtype    shape  max  count\n"
            "a.npy          float32  (1)      1      0\n"
            "long_name.npy  float32  (2)    nan      1\n");
}

// script(1) gives the command a terminal.
TEST(Command, OnATerminalNanIsRedUnlessNoColor) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kNan);
  const auto on_a_terminal = [&](const std::string& environment) {
    const std::string command = "cd '" + folder.path() + "' && env -u NO_COLOR TERM=xterm " + environment +
                                " script -qec \"'" + built::command() +
                                "' a.npy --stats nan-count,max\" /dev/null "
                                "</dev/null >terminal.txt";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return content_of(folder / "terminal.txt");
  };
  EXPECT_PRED2(holds, on_a_terminal(""), "\x1b[31mnan\x1b[0m");
  EXPECT_FALSE(holds(on_a_terminal("NO_COLOR=1"), "\x1b["));
}

TEST(Command, TheOutputsNameChoosesTheFormat) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  for (const auto& [file, begin] : {std::pair{"x.csv", "Op Type,"},
                                    {"x.json", "{\"schema_version\""},
                                    {"x.ndjson", "{\"path\""},
                                    {"x.txt", "tensor "}}) {
    const Ran ran = run(folder, std::string("a.npy --stats max -o ") + file);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(content_of(folder / file).starts_with(begin)) << content_of(folder / file);
  }
  EXPECT_EQ(run(folder, "a.npy --stats max -o x.json --format csv").exit, 0);
  EXPECT_TRUE(content_of(folder / "x.json").starts_with("Op Type,"));
}

TEST(Command, UnreadableInputsAreNamedAndTheOthersDone) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  write_file(folder / "bad.npy", kOne.substr(0, 100));
  write_file(folder / "text.npy", npy("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", "12345678"));
  const Ran ran = run(folder, "bad.npy absent.npy a.npy 'no*.npy' text.npy --format csv -o x.csv");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_EQ(line_count(ran.err), 4u) << ran.err;
  EXPECT_PRED2(holds, ran.err, "tensorstat: bad.npy: ");
  EXPECT_PRED2(holds, ran.err, "tensorstat: absent.npy: cannot be opened: No such file or directory");
  EXPECT_PRED2(holds, ran.err, "tensorstat: no*.npy: matches nothing");
  EXPECT_PRED2(holds, ran.err, "tensorstat: text.npy: holds texts (dtype '<U2'), which have no statistics");
  EXPECT_EQ(line_count(content_of(folder / "x.csv")), 2u);
}

TEST(Command, PathsAreFilesDirectoriesAndGlobs) {
  ScratchFolder folder;
  for (const char* name : {"d", "d/b", "d/b/deep"}) {
    std::filesystem::create_directory(folder / name);
  }
  for (const char* name :
       {"d/a.npy", "d/c.npy", "d/b/x.npy", "d/b/deep/y.npy", "d/nameless", "e1.npy", "e2.npy", "[e].npy", "plain"}) {
    write_file(folder / name, kOne);
  }
  write_file(folder / "d/notes.txt", "no tensor");
  const auto paths = [&](const std::string& arguments) {
    const Ran ran = run(folder, arguments + " --format json --stats max --on host");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const json document = test::parsed_json(ran.out);
    std::string joined;
    for (const json& tensor : document.at("tensors")) {
      joined += tensor.at("path").get<std::string>() + " ";
    }
    return joined;
  };
  EXPECT_EQ(paths("d"), "d/a.npy d/b/deep/y.npy d/b/x.npy d/c.npy d/nameless ");  // by their first bytes
  EXPECT_EQ(paths("'e?.npy'"), "e1.npy e2.npy ");
  EXPECT_EQ(paths("e2.npy 'e*.npy'"), "e2.npy e1.npy e2.npy ");
  EXPECT_EQ(paths("'[e].npy'"), "[e].npy ");  // an existing file of that name is not a glob
  EXPECT_EQ(paths("plain"), "plain ");
}

// Python would read -0 as the integer 0.
TEST(Command, JsonKeepsTheSignOfZero) {
  ScratchFolder folder;
  write_file(folder / "a.npy", floats("(1,)", std::string_view("\0\0\0\x80", 4)));
  const Ran ran = run(folder, "a.npy --format json --stats max,zero-count --on host");
  EXPECT_PRED2(holds, ran.out, "\"stats\":{\"max\":-0.0,\"zero count\":1}");
}

// File names with terminal control sequences, everywhere they are shown.
TEST(Command, FileNamesAreEscapedWhereTheyAreShown) {
  ScratchFolder folder;
  const std::string name = "e\n\xc2\x9b\x9b\u202e\u5c42.npy", shown = "e\\n\\u009b\\x9b\\u202e\u5c42.npy";
  write_file(folder / name, kOne);
  const Ran table = run(folder, ". --stats max --on host --explain");
  EXPECT_EQ(line_count(table.out), 6u) << table.out;
  EXPECT_PRED2(holds, table.out, "./" + shown + "  float32");
  EXPECT_PRED2(holds, table.out, "\n./" + shown + "\n  max: host: ");
  const Ran csv = run(folder, ". --stats max --on host --explain --format csv -o x.csv");
  EXPECT_PRED2(holds, csv.err, "tensorstat: ./" + shown + "\n");
  const Ran unread = run(folder, "'absent" + name + "' 'no*" + name + "'");
  EXPECT_EQ(unread.err, "tensorstat: no*" + shown + ": matches nothing\n" + "tensorstat: absent" + shown +
                            ": cannot be opened: No such file or directory\n");
  EXPECT_PRED2(holds, run(folder, "'--" + name + "'").err, shown);
}

TEST(Command, ADirectoryWithoutTensorsIsSaid) {
  ScratchFolder folder;
  const Ran ran = run(folder, ".");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "tensorstat: .: no supported tensor file in it, such as .npy\n");
}

TEST(Command, WrongUsageExitsWithTwoAndSaysWhatIsAllowed) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  const std::pair<const char*, const char*> wrong[] = {
      {"", "nothing to read"},
      {"a.npy --stats maximum", "the nearest names are max, min, absmax"},
      {"a.npy --stats ''", "no statistic is named: expected names such as max,nan count"},
      {"a.npy --on gpu", "{auto,host,device}"},
      {"a.npy --precision medium", "{high,low}"},
      {"a.npy --format xml", "{table,csv,json,ndjson,md}"},
      {"a.npy --device 0", "0:0"},
      {"a.npy --device 0:-1", "0:0"},
      {"a.npy --device a:b", "0:0"},
      {"a.npy --budget 12X", "x unit not recognized"},
      {"a.npy --budget -1", "512M"},
      {"a.npy --budget 1.5G", "could not be converted"},
      {"a.npy --budget M", "512M"},
      {"a.npy --budget 17179869185G", "Use smaller value"},
      {"--stats max devices", "--stats does nothing with `tensorstat devices`"},
      {"--explain devices", "--explain does nothing"},
      {"a.npy --budget 1M dump --config x b.npy", "does nothing with `tensorstat dump`"},
      {"devices a.npy", "a.npy"},
      {"a.npy --bogus", "--bogus"},
      {"a.npy --stats", "--stats"},
      {"a.npy --top -1", "not a whole number"},
      {"a.npy --top 99999999999999999999", "not a whole number"},
      {"a.npy --top 2x", "not a whole number"},
      {"a.npy -o ''", "the name is empty"},
      {"diff a.npy a.npy -o ''", "the name is empty"},
      {"origin a.npy -o ''", "the name is empty"},
      {"convert a.csv --to ours -o ''", "the name is empty"},
      {"dump a.npy --config c.json -o ''", "the name is empty"},
      {"diff --by 3 a.npy a.npy", "`tensorstat diff` has no option --by"},
      {"diff a.npy a.npy --by 3", "`tensorstat diff` has no option --by"},
      {"origin --top 1 a.npy", "`tensorstat origin` has no option --top"},
      {"diff a.npy", "Try 'tensorstat diff --help'"},
      {"origin a.npy --format xml", "Try 'tensorstat origin --help'"},
      {"diff a.npy a.npy --where 'cosin < 1'", "the nearest names are cosine"},
      {"diff a.npy a.npy --where 'max < 1'", "write max a or max b"},
      {"diff a.npy a.npy --sort what", "--sort: 'what' is no column of a comparison"},
      {"diff a.npy a.npy --columns cosine,what", "--columns: 'what' is no column of a comparison"},
      {"diff a.npy a.npy --first --format csv", "--first writes a text, or json"},
      {"diff a.npy a.npy --first --top 1", "--first"},
      {"a.npy --bogus 3", "`tensorstat` has no option --bogus"},
      {"diff a.npy a.npy b.npy", "b.npy"},
  };
  for (const auto& [arguments, words] : wrong) {
    const Ran ran = run(folder, arguments);
    EXPECT_EQ(ran.exit, 2) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
    EXPECT_PRED2(holds, ran.err, words) << arguments;
    EXPECT_TRUE(ran.err.starts_with("tensorstat: ")) << ran.err;
  }
  for (const char* budget : {"0", "1000000", "64K", "512M", "2G", "2g"}) {
    EXPECT_EQ(run(folder, std::string("a.npy --budget ") + budget).exit, 0) << budget;
  }
}

TEST(Command, WithoutADeviceOnlyInsistingFails) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  write_file(folder / "x.csv", "what was there\n");
  const std::string no_icd = "OCL_ICD_VENDORS=/nonexistent/";
  const Ran insisted = run(folder, "a.npy --on device -o x.csv", no_icd);
  EXPECT_EQ(insisted.exit, 4) << insisted.err;
  EXPECT_PRED2(holds, insisted.err, "tensorstat: a.npy: ");
  EXPECT_EQ(content_of(folder / "x.csv"), "what was there\n");
  for (const char* on : {"auto", "host"}) {
    const Ran ran = run(folder, std::string("a.npy --stats max --format csv --on ") + on, no_icd);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(line_count(ran.out), 2u);
  }
  const Ran named = run(folder, "a.npy --device 9:9", no_icd);
  EXPECT_EQ(named.exit, 4) << "the host would have done it";
  EXPECT_PRED2(holds, named.err, "there is no OpenCL device 9:9; `tensorstat devices` lists them");
  EXPECT_EQ(run(folder, "a.npy --device 9:9 --on host", no_icd).exit, 4);
  EXPECT_EQ(run(folder, "a.npy --device 9:9 --head", no_icd).exit, 4);
  const Ran unknown = run(folder, "a.npy", "TENSORSTAT_ISA=x");
  EXPECT_PRED2(holds, unknown.err, "TENSORSTAT_ISA is 'x', which is none of baseline, avx2 and avx512");
  EXPECT_EQ(unknown.exit, 0);
  const Ran devices = run(folder, "devices", no_icd);
  EXPECT_EQ(devices.exit, 0);
  EXPECT_PRED2(holds, devices.out, "no OpenCL device");
}

TEST(Command, ListsDevices) {
  if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
  ScratchFolder folder;
  const Ran ran = run(folder, "devices");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("0:0")) << ran.out;
}

TEST(Command, ExplainSaysWhereAndWhy) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  const Ran ran = run(folder, "a.npy --stats max,md5 --on host --explain");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_PRED2(holds, ran.out, "max");
  EXPECT_PRED2(holds, ran.out, "host: ");
  EXPECT_PRED2(holds, ran.out, "device memory taken: 0 bytes\n");
}

TEST(Command, AnOutputThatCannotBeWrittenIsSaid) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  const Ran nowhere = run(folder, "a.npy -o nowhere/x.csv");
  EXPECT_EQ(nowhere.exit, 5);
  EXPECT_PRED2(holds, nowhere.err, "nowhere/x.csv: cannot be written: No such file or directory");
  const Ran full = run(folder, "a.npy -o /dev/full");
  EXPECT_EQ(full.exit, 5);
  EXPECT_PRED2(holds, full.err, "No space left");
}

// Of limits that grow, the last that is too small: with much less the loader finds no room for the libraries.
TEST(Command, AnAddressSpaceThatIsTooSmallIsSaid) {
  if (kSanitized || is_emulated()) GTEST_SKIP() << "a sanitizer and QEMU need more address space";
  const ScratchFolder folder;
  test::write_file(folder / "a.npy", test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd"));
  test::Ran before, ran;
  for (int kilobytes = 8'000; kilobytes <= 100'000; kilobytes += 200) {
    ran = test::run(folder, "a.npy --on host", "prlimit --core=0 --as=" + std::to_string(kilobytes) + "000");
    if (ran.exit == 0) break;
    before = ran;
  }
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(before.exit, 5);
  EXPECT_EQ(before.err, "tensorstat: out of memory\n");
}

TEST(Command, AnOutputReplacesTheFileALinkNamesAndLeavesNothingBeside) {
  ScratchFolder folder;
  write_file(folder / "a.npy", kOne);
  write_file(folder / "real.csv", "old");
  std::filesystem::create_symlink("real.csv", folder / "link.csv");
  EXPECT_EQ(run(folder, "a.npy -o link.csv").exit, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.csv"));
  EXPECT_TRUE(content_of(folder / "real.csv").starts_with("Op Type,"));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 3);
}

TEST(Command, VouchesForBfloatSixteen) {
  ScratchFolder folder;
  write_file(folder / "x.npy",
             npy("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", std::string_view("\x80\x3f", 2)));
  EXPECT_EQ(run(folder, "x.npy").exit, 3);
  const Ran ran = run(folder, "x.npy --bfloat16 --format json --stats max");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(test::parsed_json(ran.out).at("tensors").at(0).at("stats").at("max"), 1.0);
}

}  // namespace command_test
}  // namespace tensorstat
