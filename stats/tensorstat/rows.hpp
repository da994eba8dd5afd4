// SPDX-License-Identifier: Apache-2.0
// Rows of statistics: the identity of a tensor and its values. Writes and reads every dialect of statistic.csv, and the
// csv files that CANN writes for each run of an operator.
//
//   auto writer = RowWriter::open({.dialect = Dialect::kOurs, .categories = all_categories()}, sink);
//   if (writer) writer->write(row);
//
//   const auto read = read_rows_of_file("statistic.csv", [&](Row&& row) {
//     rows.push_back(std::move(row));
//     return Status();
//   });
//
// Nothing here throws, except that exceptions of the caller's functions pass through.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tensorstat {

// A cell of a row's identity: an unsigned integer or a text.
using Cell = std::variant<std::uint64_t, std::string>;

// Identifies a tensor. Every dump has the first seven members, in MindSpore's terms; `more` holds further columns.
struct Identity {
  std::string op_type = "Tensor";  // "Add"; "Parameter" for a parameter or constant
  std::string op_name;             // the operator's name with its scope
  std::uint64_t task_id = 0;
  std::uint64_t stream_id = 0;
  std::uint64_t timestamp_us = 0;  // since the Unix epoch
  std::string io = "output";       // "input" or "output"
  std::uint64_t slot = 0;          // which input or output

  // Further columns by name, each name once: {"rank", 3}. Only the names of further_columns() can be written and read.
  std::vector<std::pair<std::string, Cell>> more = {};

  // The cell of that name in `more`, or nullptr.
  const Cell* find(std::string_view name) const;
  // Adds the cell to `more`, or replaces the cell with that name.
  void set(std::string_view name, Cell cell);
};

struct Row {
  Identity identity;
  std::uint64_t data_size_bytes = 0;  // size of the tensor in its original dtype
  std::string data_type;              // "float32"; the original dtype, even if a wider one is stored
  Shape shape;
  Statistics statistics;
};

// The dialects of csv files of rows. Each dialect is one value in stats/data/rows/dialects.cpp.
//   kOurs          RFC 4180 with LF. Numbers have the shortest digits that read back as the same value. Cells are
//                  quoted only if they need it. If a spreadsheet would run a text cell as a formula (it starts with = +
//                  - @, plain or full-width, or with TAB, CR or LF), the writer puts a ' in front and the reader
//                  removes it. A missing value is an empty cell. Further columns may follow.
//   kMindspore27   the same bytes as MindSpore 2.3 to 2.7.0: 6 significant digits; / \ . and space in an operator name
//                  become _; every row ends with a comma, the header does not. Only Shape is quoted; nothing is
//                  escaped. A missing value is `null`.
//   kMindsporeNext  the same bytes as later versions: as kMindspore27, but operator names are unchanged and Shape is
//                   "[2,3]".
//   kCann          the csv that CANN's dump (acl.json, TorchAir) writes for each run of an operator. The file name
//                  identifies the operator: {op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}.csv. The statistics
//                  are in CANN's order, not in the requested one. Count is always written: behind Avg Value if the
//                  statistics are exactly max, min, avg and the counts of NaN and Inf, else behind Shape. Data types
//                  are written as DT_FLOAT, shapes as 2x3, a scalar's shape as -. Nothing is quoted. Reals have 6
//                  significant digits, integers all. A missing value is NA. There are columns only for these
//                  statistics, l2norm and count.
//   kMsprobeO2     the statistic.csv that msprobe makes from those files: as kCann, but with the identity in each row,
//                  in msprobe's order, with md5 and without count.
// In all dialects but kOurs a control character in a text becomes _, so that a row stays one line.
//
// TENSORSTAT_DIALECTS(ROW): ROW(id, name, value)
#define TENSORSTAT_DIALECTS(ROW)                           \
  ROW(kOurs, "ours", kOurDialect)                          \
  ROW(kMindspore27, "mindspore-2.7", kMindspore27Csv)      \
  ROW(kMindsporeNext, "mindspore-next", kMindsporeNextCsv) \
  ROW(kCann, "cann", kCannCsv)                             \
  ROW(kMsprobeO2, "msprobe-o2", kMsprobeO2Csv)

#define TENSORSTAT_ID(id, ...) id,
enum class Dialect : std::uint8_t { TENSORSTAT_DIALECTS(TENSORSTAT_ID) };
#undef TENSORSTAT_ID

std::string_view name(Dialect dialect);  // "mindspore-2.7"
std::optional<Dialect> dialect_from(std::string_view name);
std::vector<std::string_view> dialect_names();

// The names of the columns that may follow the statistics in dialect kOurs: "path", "rank", "graph", "iteration",
// "tensor", "format" (NCHW, ND), and "crc32", "xor" and "requires_grad", which come from msprobe. A row without such a
// value has an empty cell.
std::vector<std::string_view> further_columns();

// The format of one file of rows.
struct RowFormat {
  Dialect dialect = Dialect::kOurs;
  Categories categories = {};             // the statistics, in this order, unless the dialect has its own order
  std::vector<std::string> columns = {};  // from further_columns(), each once; they follow the statistics
};

// Writes the heading and then row after row. Not thread-safe.
class RowWriter {
 public:
  // Receives whole lines, each ending in LF. The call that wrote them returns the sink's error.
  using Sink = std::function<Status(std::string_view lines)>;

  // Writes the heading. kInvalid: a column is unknown, repeated or not possible in the dialect, or the dialect has no
  // column for a statistic.
  static Result<RowWriter> open(RowFormat format, Sink sink);
  RowWriter(RowWriter&&) noexcept;
  RowWriter& operator=(RowWriter&&) noexcept;
  ~RowWriter();

  // Calls the sink once. kInvalid, and nothing is written: the row's categories are not the format's, or, for kCann,
  // the row belongs to another run of an operator than the rows before.
  Status write(const Row& row);

 private:
  struct State;
  explicit RowWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What a reader found out about a file of rows.
struct RowsRead {
  std::optional<Dialect> dialect;    // nullopt: the file has no row that shows it, or is no csv
  Categories categories;             // one for each column of a statistic; MindSpore's files may repeat one
  std::vector<std::string> columns;  // the names of the further columns
  std::uint64_t row_count = 0;
  std::string framework = {};  // from a dump.json that has it: "pytorch", "mindspore"
};

// Receives each row, in order. If it returns an error, reading ends and the reader returns that error.
using EachRow = std::function<Status(Row&& row)>;

// The name of the file for a row: "statistic.csv"; for kCann the name that identifies the operator, in which / \ . and
// space of its type and name become _. The result may exceed the 255 bytes that a file name can have.
std::string file_name(Dialect dialect, const Identity& identity);

// Reads the text of a whole file of rows. The heading and the first row tell the dialect. If the text begins with {, it
// is read as msprobe's dump.json: each tensor is a row with its own categories
// (stats/data/rows/dump_json/dump_json.hpp).
//
// Strict: the heading must be known, and all rows must have the fields, quotes and line ends of one dialect. Lines may
// end in CR LF. Otherwise the error is kUnreadable with the line number, counted from 1; the rows before that line have
// been passed to `each`.
//
// The category decides how a value is read (ValueKind): an element is an integer if the dtype is an integer and the
// cell is one, else binary64; a count is uint64; a digest is its hexadecimal digits. An empty cell, or the dialect's
// word for it, is monostate. -nan is nan. An empty cell of a further column adds nothing to the row. Columns that CANN
// omits are tolerated (stats/data/rows/csv/short_row.hpp). Rows of kCann get their identity from the file name, which a
// text does not have: read_rows sets only io and slot, read_rows_of_file sets all.
Result<RowsRead> read_rows(std::string_view text, const EachRow& each);

// As read_rows(), for a regular file, read in pieces. Memory grows only with the longest row, which may have 64 MiB.
Result<RowsRead> read_rows_of_file(const std::string& path, const EachRow& each);

}  // namespace tensorstat
