// SPDX-License-Identifier: Apache-2.0
// Rows of statistics: whose tensor it was, and what was found. Written and read in every dialect of statistic.csv, and
// of the csv that CANN writes for each run of an operator.
//
//   auto writer = RowWriter::open({.dialect = Dialect::kOurs, .categories = all_categories()}, sink);
//   if (writer) writer->write(row);
//
//   const auto read = read_rows_of_file("statistic.csv", [&](Row&& row) { rows.push_back(std::move(row)); return Status(); });
//
// Nothing here throws, but what a function of the caller throws passes through.
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

// A cell of a row's identity: a whole number or a text.
using Cell = std::variant<std::uint64_t, std::string>;

// Whose tensor it was. Every dump says the first seven, in MindSpore's terms; `more` is open.
struct Identity {
  std::string op_type = "Tensor";  // "Add"; "Parameter" for a parameter or constant
  std::string op_name;             // the operator's name with its scope
  std::uint64_t task_id = 0;
  std::uint64_t stream_id = 0;
  std::uint64_t timestamp_us = 0;  // since the Unix epoch
  std::string io = "output";       // "input" or "output"
  std::uint64_t slot = 0;          // which input or output

  // Any other column by its name, each name once: {"rank", 3}. Those of further_columns() can be written and read.
  std::vector<std::pair<std::string, Cell>> more = {};

  // The cell of that name in `more`, or nullptr.
  const Cell* find(std::string_view name) const;
  // Puts it there, in the place of one that has the name.
  void set(std::string_view name, Cell cell);
};

struct Row {
  Identity identity;
  std::uint64_t data_size_bytes = 0;  // of the tensor in its original dtype
  std::string data_type;              // "float32"; the original dtype also where a wider one is stored
  Shape shape;
  Statistics statistics;
};

// How rows are written. Each dialect is one value in stats/rows/dialects.cpp.
//   kOurs          RFC 4180 with LF: shortest digits that read back as the same value, quotes where
//                  needed, nothing after the last field. A text cell a spreadsheet would run as a formula (it starts
//                  with = + - @, plain or full-width, or with TAB, CR or LF) gets a ' in front, which the reader takes
//                  off again. A value that does not exist is an empty cell. Further columns may follow.
//   kMindspore27   the bytes of MindSpore 2.3 to 2.7.0: 6 significant digits, / \ . and space of an
//                  operator name as _, a comma at the end of every row but not of the header. Only
//                  Shape is quoted; nothing is escaped. A value that does not exist is `null`.
//   kMindsporeNext the bytes of later versions: the same, with the operator name as it is and
//                  Shape as "[2,3]".
//   kCann          the csv that CANN's dump (acl.json, TorchAir) writes for each run of an operator. The file's name says
//                  whose the rows are, {op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}.csv. Statistics come in
//                  CANN's order, whatever the order asked: with exactly max, min, avg and the counts of NaN and Inf,
//                  Count stands behind Avg Value, else behind Shape; it is always written. Data types are DT_FLOAT,
//                  shapes 2x3 and - of a scalar, nothing is quoted. Reals have 6 significant digits, integers all. A
//                  value that does not exist is NA. Other statistics than those, l2norm and count have no column.
//   kMsprobeO2     the statistic.csv that msprobe makes of those files: the same with the identity in each row, in
//                  msprobe's order, with md5 and without count.
// In the dialects other than ours a control character in a text becomes _, so that a row stays one line.
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

// The names of the columns that a row of dialect kOurs may have after the statistics: "path", "rank", "graph",
// "iteration", "tensor", "format" (NCHW, ND), and "crc32", "xor" and "requires_grad", which msprobe says. A row that does not say has an
// empty cell there.
std::vector<std::string_view> further_columns();

// What the rows of one file have in common.
struct RowFormat {
  Dialect dialect = Dialect::kOurs;
  Categories categories = {};            // the statistics, in this order, but for dialects that have their own
  std::vector<std::string> columns = {};  // of further_columns(), each once, after the statistics
};

// Writes the heading and then row after row. One thread at a time.
class RowWriter {
 public:
  // Gets whole lines, each ending in LF. Its error is returned by the call that wrote them.
  using Sink = std::function<Status(std::string_view lines)>;

  // Writes the heading. kInvalid: a column that is not known, comes twice, or that the dialect has no place for; a
  // statistic that the dialect has no column for.
  static Result<RowWriter> open(RowFormat format, Sink sink);
  RowWriter(RowWriter&&) noexcept;
  RowWriter& operator=(RowWriter&&) noexcept;
  ~RowWriter();

  // One call of the sink. kInvalid where the row's categories are not the format's, or, of kCann, where the row is of
  // another run than those before it; nothing is written then.
  Status write(const Row& row);

 private:
  struct State;
  explicit RowWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What a file of rows turned out to be.
struct RowsRead {
  std::optional<Dialect> dialect;    // none: the file holds no row that would tell, or is no csv
  Categories categories;             // one for each column of a statistic; one may come twice in MindSpore's
  std::vector<std::string> columns;  // the names of its further columns
  std::uint64_t row_count = 0;
  std::string framework = {};        // of a dump.json that says so: "pytorch", "mindspore"
};

// Gets each row, in order. An error ends the reading and is what the reader returns.
using EachRow = std::function<Status(Row&& row)>;

// The name of the file that holds a row: "statistic.csv", or of kCann the one that says whose the rows are, with
// / \ . and space in the operator's type and name as _. May be longer than the 255 bytes that a file's name can have.
std::string file_name(Dialect dialect, const Identity& identity);

// Reads a whole file of rows in any dialect. The heading and the first row tell which it is. A text that begins with {
// is read as msprobe's dump.json: each tensor is a row of its own categories, which stats/rows/dump_json/dump_json.hpp describes.
//
// Strict: the heading must be known, and every row must have its fields, its quotes and its LF in one dialect
// throughout. What is wrong is said (kUnreadable) with its line number, counted from 1; the rows before it have been
// handed over. Lines may end in CR LF.
//
// A value is read as its category says (ValueKind): an element as an integer where the dtype is one and it was written
// as one, else as binary64; a count as uint64; a digest from its digits. An empty cell, and the dialect's word for it,
// is no value. -nan is nan. Of an empty text in a further column the row says nothing. What CANN leaves out of its rows
// is tolerated (stats/rows/csv/short_row.hpp). A text has no name, so that rows of kCann have no identity there but io and
// slot; read_rows_of_file takes it from the name.
Result<RowsRead> read_rows(std::string_view text, const EachRow& each);

// The same of a regular file, in pieces: memory does not grow with the file, only with its longest row, which may
// have 64 MiB.
Result<RowsRead> read_rows_of_file(const std::string& path, const EachRow& each);

}  // namespace tensorstat
