// For tests of `tensorstat convert`: rows to convert, and those that are in its output.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat::test {

namespace fs = std::filesystem;

inline std::string written(const RowFormat& format, const std::vector<Row>& rows) {
  std::string text;
  auto writer = RowWriter::open(format, [&](std::string_view lines) { return text += lines, Status(); });
  EXPECT_TRUE(writer) << writer.error().message;
  for (const Row& row : rows) EXPECT_TRUE(writer && writer->write(row));
  return text;
}

// One run of one operator, with fields that not all dialects have.
inline std::vector<Row> rows_of_a_run(const Categories& categories) {
  std::vector<Row> rows;
  for (const bool is_input : {true, false}) {
    Row row;
    row.identity = {"Conv2D", "Default/net/Conv2D-op1", 7, 3, 1725960383079645, is_input ? "input" : "output", 1};
    row.identity.set("format", std::string("NCHW"));
    row.data_size_bytes = 24;
    row.data_type = is_input ? "float32" : "int32";
    row.shape = {2, 3};
    row.statistics.categories = categories;
    for (const Category category : categories) {
      switch (kind(category)) {
        case ValueKind::kElement:
        case ValueKind::kSize:
          row.statistics.values.push_back(is_input ? Value{1.0 / 3} : Value{std::int64_t{1234567}});
          break;
        case ValueKind::kReal:
          row.statistics.values.push_back(is_input ? Value{std::nan("")} : Value{1.0 / 3});
          break;
        case ValueKind::kCount:
        case ValueKind::kIndex:
          row.statistics.values.push_back(std::uint64_t{6});
          break;
        case ValueKind::kDigest:
          row.statistics.values.push_back(*Digest::from(std::string(category == Category::kHash ? 40 : 32, 'a')));
          break;
        case ValueKind::kList:
          row.statistics.values.push_back(Exponents({1, 0, 0, 0, {{-3, 4}, {2, 1}}}));
          break;
      }
    }
    rows.push_back(row);
  }
  return rows;
}

inline std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string only_file_below(const std::string& folder) {
  const auto files = files_below(folder);
  EXPECT_EQ(files.size(), 1u);
  return files.empty() ? "" : files.front();
}

inline std::vector<Row> read(const std::string& path, std::optional<Dialect> dialect) {
  std::vector<Row> rows;
  const auto read = read_rows_of_file(path, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
  EXPECT_TRUE(read) << read.error().message;
  if (read) {
    EXPECT_EQ(read->dialect, dialect) << path;
  }
  return rows;
}

inline std::vector<std::string> all_dialects() {
  const auto names = dialect_names();
  return {names.begin(), names.end()};
}

inline std::vector<std::string> all_targets() {
  auto targets = all_dialects();
  targets.emplace_back("msprobe");
  return targets;
}

}  // namespace tensorstat::test
