// Rows come out of a store as they went in, bit for bit, whatever their values and names; adding a file again adds what
// is new of it, and a file that was replaced has its new rows alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stats/answer/store/store.hpp"
#include "stats/data/rows/rows_of_file.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace stored_rows_test {

using namespace std::string_literals;

const std::string kHeading =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
    "NaN Count,MD5,P99.9,Rank,Path\n";

// All that a row says, with the type of each value.
std::string text_of(const Row& row) {
  const Identity& identity = row.identity;
  std::string text = identity.op_type + "|" + identity.op_name + "|" + std::to_string(identity.task_id) + "|" +
                     std::to_string(identity.stream_id) + "|" + std::to_string(identity.timestamp_us) + "|" +
                     identity.io + "|" + std::to_string(identity.slot) + "|" + std::to_string(row.data_size_bytes) +
                     "|" + row.data_type + "|" + to_string(row.shape);
  for (const auto& [name, cell] : identity.more) {
    const auto* number = std::get_if<std::uint64_t>(&cell);
    text += "|" + name + "=" + (number != nullptr ? std::to_string(*number) : std::get<std::string>(cell));
  }
  for (std::size_t i = 0; i < row.statistics.values.size(); ++i) {
    const Value& value = row.statistics.values[i];
    text +=
        "|" + std::string(name(row.statistics.categories[i])) + ":" + std::to_string(value.index()) + to_string(value);
  }
  return text;
}

class StoredRowsTest : public testing::Test {
 protected:
  void write(const std::string& rows) { std::ofstream(path_, std::ios::binary) << kHeading << rows; }
  StoreAdded add() {
    auto store = Store::open(store_, Access::kWrite);
    EXPECT_TRUE(store) << store.error().message;
    std::vector<Error> faults;
    auto added = store->add(find_row_files({path_}, faults), "run", [](std::string_view) {});
    EXPECT_TRUE(added) << added.error().message;
    return *added;
  }
  std::vector<std::string> stored() {
    std::vector<std::string> rows;
    auto store = Store::open(store_, Access::kRead);
    const auto read = store->read("run", path_, [&](Row&& row) {
      rows.push_back(text_of(row));
      return Status();
    });
    EXPECT_TRUE(read) << read.error().message;
    return rows;
  }
  std::vector<std::string> written() {
    std::vector<std::string> rows;
    const auto read = read_rows_of_file(path_, [&](Row&& row) {
      rows.push_back(text_of(row));
      return Status();
    });
    EXPECT_TRUE(read) << read.error().message;
    return rows;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_ / "statistic.csv", store_ = folder_ / "runs.db";
};

TEST_F(StoredRowsTest, AreTheSameBitForBit) {
  const std::vector<std::string> names = {
      "plain",     "\"a,b\"", "\"quo\"\"te\"",       "\"new\nline\"", "gr\xc3\xbc\xc3\x9f",
      "'=formula", "\x01",    std::string(5000, 'x')};
  const std::vector<std::string> reals = {
      "nan", "inf", "-inf", "-0", "0", "5e-324", "1.7976931348623157e+308", "0.3333333333333333", "9007199254740993",
      ""};
  const std::vector<std::string> integers = {
      "18446744073709551615", "9223372036854775808", "-9223372036854775808", "9007199254740993", "0", "", "nan", "0.5"};
  std::string rows;
  std::size_t number = 0;
  for (const char* dtype : {"float32", "float64", "uint64", "int64", "bool", "strange"}) {
    const bool is_float = std::string(dtype).starts_with("float");
    for (const std::string& value : is_float ? reals : integers) {
      const std::string index = std::to_string(number++);
      rows += "Add," + names[number % names.size()] + ",18446744073709551615,7,9223372036854775808,input," + index +
              ",8," + dtype + ",\"(2," + index + ")\"," + value + "," + value + "," + value +
              ",9007199254740993,0123456789abcdef0123456789abcdef," + value + "," + (number % 3 == 0 ? "" : index) +
              ",some/where\n";
    }
  }
  write(rows);
  EXPECT_EQ(add().rows, number);
  EXPECT_EQ(stored(), written());
}

// Joined by NUL, both rows of a pair would have one name.
TEST_F(StoredRowsTest, NamesMayHoldNul) {
  const std::vector<std::string> names[] = {{"z", "x\0y"s, "input"}, {"y\0z"s, "x", "input"}, {"y", "x\0"s, "input"},
                                            {"\0y"s, "x", "input"},  {"z", "x\0"s, "input"},  {"\0z"s, "x", "input"},
                                            {"z\0"s, "x", "output"}, {"z", "\0x"s, "output"}, {"z", "x", "input"}};
  std::string rows;
  for (const auto& each : names) {
    rows += each[0] + "," + each[1] + ",0,0,1," + each[2] + ",0,8,float32,\"(2)\",1,2,3,0,,,,\n";
  }
  write(rows);
  add();
  EXPECT_EQ(stored(), written());
  auto store = Store::open(store_, Access::kRead);
  std::vector<std::string> count;
  ASSERT_TRUE(store->ask("SELECT count(*) FROM tensors", [&](const auto& line) { count = line; }));
  EXPECT_EQ(count, std::vector<std::string>{std::to_string(std::size(names))});
}

TEST_F(StoredRowsTest, GrowWithTheirFile) {
  const auto row = [](int step) {
    return "Add,layer,0,0," + std::to_string(step) + ",output,0,8,float32,\"(2)\",1,2,nan,0,,,,\n";
  };
  write(row(1) + row(2));
  EXPECT_EQ(add().rows, 2u);
  EXPECT_EQ(add().rows, 0u);
  std::ofstream(path_, std::ios::app | std::ios::binary) << row(3) << "Add,layer,0,0,4,out";  // a line without its end
  EXPECT_EQ(add().rows, 1u);
  std::ofstream(path_, std::ios::app | std::ios::binary) << "put,0,8,float32,\"(2)\",1,2,3,0,,,,\n";
  EXPECT_EQ(add().rows, 1u);
  EXPECT_EQ(stored(), written());
}

TEST_F(StoredRowsTest, AreReplacedWithTheirFile) {
  write(
      "Add,old,0,0,1,output,0,8,uint64,\"(2)\",18446744073709551615,0,0,0,,,,\n"
      "Add,old,0,0,2,output,0,8,uint64,\"(2)\",18446744073709551615,0,0,0,,,,\n");
  add();
  std::filesystem::remove(path_);
  write("Add,new,0,0,1,output,0,8,uint64,\"(2)\",1,0,0,0,,,,\n");
  add();
  EXPECT_EQ(stored(), written());
  auto store = Store::open(store_, Access::kRead);
  std::vector<std::string> count;
  ASSERT_TRUE(store->ask("SELECT count(*) FROM exact", [&](const auto& line) { count = line; }));
  EXPECT_EQ(count, std::vector<std::string>{"0"}) << "exact values go with their rows";
}

// What is told of a file besides its rows is that of the file itself.
TEST_F(StoredRowsTest, KnowTheFrameworkOfTheirFile) {
  const std::string path = folder_ / "dump.json";
  std::ofstream(path)
      << R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {)"
      << R"("Functional.add.0.forward": {"input_args": [], "input_kwargs": {}, "output": [)"
      << R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "Max": 1.0, "Min": 1.0,)"
      << R"( "Mean": 1.0, "Norm": 1.0, "requires_grad": false}]}}})";
  const auto no_more = [](Row&&) { return Status(); };
  const auto of_file = read_rows_of_file(path, no_more);
  ASSERT_TRUE(of_file) << of_file.error().message;
  EXPECT_EQ(of_file->framework, "pytorch");
  auto store = Store::open(store_, Access::kWrite);
  ASSERT_TRUE(store) << store.error().message;
  std::vector<Error> faults;
  ASSERT_TRUE(store->add(find_row_files({path}, faults), "run", [](std::string_view) {}));
  const auto stored = store->read("run", path, no_more);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->framework, of_file->framework);
  EXPECT_EQ(stored->dialect, of_file->dialect);
  EXPECT_EQ(stored->row_count, of_file->row_count);
}

}  // namespace stored_rows_test
}  // namespace tensorstat
