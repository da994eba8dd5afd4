// Rows are read from msprobe's dump.json, in all of its versions. Errors give the position in the file.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <tensorstat/rows.hpp>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace dump_json_test {

struct Got {
  std::vector<Row> rows;
  std::string error;
  RowsRead read;

  const Value& value(std::size_t row, Category category) const { return *rows.at(row).statistics.find(category); }
  std::string tensor(std::size_t row) const { return std::get<std::string>(*rows.at(row).identity.find("tensor")); }
};

// Reads the text and a file of it, which must give the same.
Got got(const std::string& text) {
  Got from_text, from_file;
  const auto take = [](Got& to) { return [&to](Row&& row) { return to.rows.push_back(std::move(row)), Status(); }; };
  const auto keep = [](Got& to, const Result<RowsRead>& read) {
    if (read) to.read = *read;
    if (!read) to.error = read.error().message;
  };
  keep(from_text, read_rows(text, take(from_text)));
  const ScratchFolder folder;
  std::ofstream(folder / "dump.json") << text;
  keep(from_file, read_rows_of_file(folder / "dump.json", take(from_file)));
  EXPECT_EQ(from_text.rows.size(), from_file.rows.size());
  EXPECT_EQ(from_text.error.substr(std::min(from_text.error.size(), from_text.error.find(','))),
            from_file.error.substr(std::min(from_file.error.size(), from_file.error.find(','))));
  return from_text;
}

std::string leaf(const std::string& rest, const std::string& dtype = "torch.float32",
                 const std::string& shape = "[2, 3]") {
  return R"({"type": "torch.Tensor", "dtype": ")" + dtype + R"(", "shape": )" + shape + rest + "}";
}

std::string dump(const std::string& data) {
  return R"({"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {)" + data +
         "}}";
}

TEST(DumpJson, AForwardCall) {
  const auto file = got(dump(
      R"("Functional.conv2d.3.forward": {"input_args": [)" +
      leaf(R"(, "Max": 1.5, "Min": -2, "Mean": NaN, "Norm": Infinity, "requires_grad": false, "md5": "0a1b2c3d")") +
      R"(, null, {"type": "int", "value": 1}, [)" + leaf(R"(, "Max": null)") + R"(]], "input_kwargs": {"stride": )" +
      leaf("") + R"(, "padding": {"type": "slice", "value": [0, 1, null]}}, "output": [)" +
      leaf(R"(, "Max": -Infinity, "Min": -Infinity, "Mean": 0, "Norm": 7.441285561071709e-05)") +
      R"(], "is_recompute": false})"));
  ASSERT_EQ(file.error, "");
  ASSERT_EQ(file.rows.size(), 4u);
  const Row& first = file.rows[0];
  EXPECT_EQ(first.identity.op_name, "Functional.conv2d.3.forward");
  EXPECT_EQ(first.identity.op_type, "conv2d");
  EXPECT_EQ(first.identity.io, "input");
  EXPECT_EQ(first.data_type, "float32");
  EXPECT_EQ(first.data_size_bytes, 24u);
  EXPECT_EQ(first.shape, (Shape{2, 3}));
  EXPECT_EQ(file.value(0, Category::kMax), Value(1.5));
  EXPECT_EQ(file.value(0, Category::kMin), Value(-2.0));
  EXPECT_TRUE(std::isnan(std::get<double>(file.value(0, Category::kAvg))));
  EXPECT_EQ(file.value(0, Category::kL2norm), Value(INFINITY));
  EXPECT_EQ(std::get<std::string>(*first.identity.find("crc32")), "0a1b2c3d");
  EXPECT_EQ(std::get<std::string>(*first.identity.find("requires_grad")), "False");
  EXPECT_EQ(file.value(1, Category::kMax), Value()) << "null is no value";
  EXPECT_TRUE(file.rows[2].statistics.values.empty());
  EXPECT_EQ(file.rows[3].identity.io, "output");
  EXPECT_EQ(file.value(3, Category::kMax), Value(-INFINITY));
  EXPECT_EQ(file.value(3, Category::kAvg), Value(0.0));
  EXPECT_EQ(file.value(3, Category::kL2norm), Value(7.441285561071709e-05));
  std::vector<std::uint64_t> slots;
  for (const Row& row : file.rows) slots.push_back(row.identity.slot);
  EXPECT_EQ(slots, (std::vector<std::uint64_t>{0, 3, 4, 0})) << "what is no tensor has its place";
  EXPECT_EQ(file.tensor(1), "Functional.conv2d.3.forward.input.3.0");
  EXPECT_EQ(file.tensor(2), "Functional.conv2d.3.forward.input.stride");
  EXPECT_EQ(file.tensor(3), "Functional.conv2d.3.forward.output.0");
  EXPECT_FALSE(file.read.dialect);
  EXPECT_EQ(file.read.row_count, 4u);
  EXPECT_EQ(file.read.categories, (Categories{Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm}));
  EXPECT_EQ(file.read.columns, (std::vector<std::string>{"tensor", "crc32", "requires_grad"}));
}

TEST(DumpJson, ModulesParametersAndGradients) {
  const auto file = got(dump(
      R"("Module.net.conv1.Conv2d.forward.0": {"input_args": [], "input_kwargs": {}, "output": [], "parameters": {"weight": )" +
      leaf(R"(, "Max": 1)") + R"(}}, "Cell.fc.Dense.backward.1": {"input": [)" + leaf(R"(, "Max": 2)", "Float16") +
      R"(], "output": [null]}, "Module.net.conv1.Conv2d.parameters_grad": {"weight": [)" + leaf(R"(, "Max": 3)") +
      R"(]}, "Module.net.fc.Linear.parameters_grad.0": {"bias": [)" + leaf(R"(, "Max": 4)") + "]}"));
  ASSERT_EQ(file.error, "");
  ASSERT_EQ(file.rows.size(), 4u);
  EXPECT_EQ(file.tensor(0), "Module.net.conv1.Conv2d.forward.0.parameters.weight");
  EXPECT_EQ(file.tensor(1), "Cell.fc.Dense.backward.1.input.0");
  EXPECT_EQ(file.tensor(2), "Module.net.conv1.Conv2d.parameters_grad.weight") << "of old files, without a count";
  EXPECT_EQ(file.tensor(3), "Module.net.fc.Linear.parameters_grad.0.bias");
  for (const std::size_t i : {0, 1, 2, 3}) {
    EXPECT_EQ(file.value(i, Category::kMax), Value(i + 1.0));
    EXPECT_EQ(file.rows[i].identity.io, i < 2 ? "input" : "output");
  }
  EXPECT_EQ(file.rows[0].identity.op_type, "Conv2d");
  EXPECT_EQ(file.rows[1].identity.op_type, "Dense");
  EXPECT_EQ(file.rows[1].data_type, "float16");
  EXPECT_EQ(file.rows[2].identity.op_type, "Conv2d");
  EXPECT_EQ(file.rows[3].identity.op_type, "Linear");
}

TEST(DumpJson, TypesAndTheirValues) {
  const auto file = got(dump(
      R"("Tensor.x.0.forward": {"output": [)" + leaf(R"(, "Max": 9007199254740993, "Min": -3)", "torch.int64") + "," +
      leaf(R"(, "Max": 4096.0)", "Int64") + "," + leaf(R"(, "Max": true, "Min": false, "Mean": null)", "Bool", "[]") +
      "," + leaf(R"(, "md5": "0x00000000000000ff")", "BFloat16") + "," + leaf("", "torch.complex64") + "," +
      leaf("", "UInt8", "[0, 4]") + "," + leaf(R"(, "Max": 1, "layout": "x")", "float64") + "]}"));
  ASSERT_EQ(file.error, "");
  ASSERT_EQ(file.rows.size(), 7u);
  EXPECT_EQ(file.value(0, Category::kMax), Value(std::uint64_t{9007199254740993}));
  EXPECT_EQ(file.value(0, Category::kMin), Value(std::int64_t{-3}));
  EXPECT_EQ(file.value(1, Category::kMax), Value(4096.0)) << "as it was written";
  EXPECT_EQ(file.value(2, Category::kMax), Value(std::uint64_t{1}));
  EXPECT_EQ(file.value(2, Category::kMin), Value(std::uint64_t{0}));
  EXPECT_EQ(file.rows[2].shape, Shape{});
  EXPECT_EQ(file.rows[2].data_size_bytes, 1u);
  EXPECT_EQ(file.rows[3].data_type, "bfloat16");
  EXPECT_EQ(std::get<std::string>(*file.rows[3].identity.find("xor")), "0x00000000000000ff");
  EXPECT_EQ(file.rows[4].data_type, "complex64");
  EXPECT_EQ(file.rows[5].data_type, "uint8");
  EXPECT_EQ(file.rows[5].data_size_bytes, 0u);
  EXPECT_EQ(file.value(6, Category::kMax), Value(1.0));
}

TEST(DumpJson, OldFilesAndOtherLeaves) {
  EXPECT_EQ(got(R"({"task": "statistics", "level": "L1", "dump_data_dir": null, "data": {}})").error, "")
      << "no framework";
  EXPECT_EQ(got("\n  {\"data\": {}}\n").rows.size(), 0u);
  const auto file = got(dump(
      R"("Tensor.x.0.forward": {"output": )" + leaf(R"(, "Max": 1)") +
      R"(}, "a": {"input_args": [{"type": "numpy.ndarray", "dtype": "float32", "shape": [1], "Max": 2}, {"a": {"b": )" +
      leaf(R"(, "Max": 3)") + R"(}}, {"type": "torch.Size", "value": [1, 2]}, "text", true], "x": 1}, "b": null)"));
  ASSERT_EQ(file.error, "");
  ASSERT_EQ(file.rows.size(), 3u);
  EXPECT_EQ(file.tensor(0), "Tensor.x.0.forward.output") << "a leaf that is in no list";
  EXPECT_EQ(file.tensor(2), "a.input.1.a.b");
  EXPECT_EQ(file.rows[1].identity.op_type, "a");
}

TEST(DumpJson, WhatIsWrongIsSaidWithItsPlace) {
  const std::string begin = R"({"data": {"Tensor.x.0.forward": {"output": [)";
  const struct {
    std::string text, complaint;
  } cases[] = {{"{\n \"data\": {\n  \"a\": {},\n }\n}", "line 4, column 2: syntax error"},
               {R"({"data": {}, "task": "statistics",})", "line 1, column 35: syntax error"},
               {begin, "syntax error"},
               {R"({"data": {}})" + std::string(1, '\0') + "x", "a NUL byte"},
               {R"({"data": {}} {})", "syntax error"},
               {R"({"data": []})", "data is a list"},
               {R"({"task": "statistics"})", "there is no object \"data\""},
               {R"({"data": null})", "there is no object \"data\""},
               {begin + leaf(R"(, "Max": "high")"), "Max is \"high\", not a number"},
               {begin + leaf(R"(, "Max": "\u0001NaN")"), "not a number"},  // it was one
               {begin + leaf(R"(, "Max": NaM)"), "syntax error"},
               {begin + leaf(R"(, "Max": -Inf)"), "syntax error"},
               {begin + leaf("", "torch.float32", "[-1]"), "no whole number"},
               {begin + leaf("", "torch.float32", "[1.5]"), "no whole number"},
               {begin + leaf("", "torch.float32", "[[1]]"), "a shape in a shape"},
               {begin + leaf("", "torch.float32", "[4294967296, 4294967296, 4294967296]"), "line 1, column"},
               {"{\"data\": " + std::string(600, '['), "data is a list"},
               {R"({"x": )" + std::string(600, '['), "more than 512 levels"},
               {R"({"x": ")" + std::string(17 << 20, 'x'), "longer than 16 MiB"},
               {"{\"data\": {\"\xff\": 1}}", "syntax error"}};
  for (const auto& [text, complaint] : cases) {
    const auto file = got(text);
    EXPECT_NE(file.error.find(complaint), std::string::npos) << text.substr(0, 200) << "\n" << file.error;
    EXPECT_LT(file.error.size(), 500u);
  }
}

TEST(DumpJson, TheCallerMayStop) {
  int rows = 0;
  const auto read = read_rows(dump(R"("a": {"output": [)" + leaf("") + "," + leaf("") + "]}"), [&](Row&&) -> Status {
    ++rows;
    return Error{Code::kInvalid, "enough"};
  });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "enough");
  EXPECT_EQ(rows, 1);
}

}  // namespace dump_json_test
}  // namespace tensorstat
