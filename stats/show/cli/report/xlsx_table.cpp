#include "stats/show/cli/report/xlsx_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "stats/answer/msprobe/table.hpp"
#include "stats/core/base/utf8.hpp"
#include "stats/data/files/io/whole_file.hpp"

#if TENSORSTAT_XLSX
#include <xlsxwriter.h>

#include "stats/core/base/loaded_library.hpp"
#endif

namespace tensorstat::cli {

#if TENSORSTAT_XLSX

namespace {

namespace fs = std::filesystem;

// libxlsxwriter brings OpenSSL into the process.
#define TENSORSTAT_XLSX_FUNCTIONS(F) \
  F(workbook_new_opt)                \
  F(workbook_close)                  \
  F(workbook_add_worksheet)          \
  F(workbook_add_format)             \
  F(format_set_bg_color)             \
  F(worksheet_write_boolean)         \
  F(worksheet_write_number)          \
  F(worksheet_write_string)          \
  F(lxw_strerror)

struct XlsxWriter {
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_XLSX_FUNCTIONS)
};

Result<const XlsxWriter*> xlsx_writer() {
  if (const auto* library = loaded<XlsxWriter>(TENSORSTAT_XLSX_LIBRARY)) return library;
  return Error{Code::kUnsupported, "xlsx: " TENSORSTAT_XLSX_LIBRARY
                                   " cannot be loaded; apt-get install " TENSORSTAT_XLSX_PACKAGE ", or name a .csv"};
}

constexpr std::size_t kMostRows = 1'048'500;  // rows per sheet, as in msprobe
constexpr std::size_t kMostBytes = std::size_t{4} << 30;
constexpr std::size_t kMostText = 32'767;  // UTF-16 units per cell

Error fault_of(const std::string& what) { return {Code::kUnwritable, "the xlsx cannot be made: " + what}; }

// Spreadsheets read _x0041_ as A. So an underscore before such digits is written as _x005F_.
bool begins_escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  return text.size() >= 6 && text.starts_with("_x") && text.substr(2, 4).find_first_not_of(kHex) == text.npos;
}

// The text as a cell can hold it. NUL, U+FFFE, U+FFFF and bytes that are not UTF-8 become U+FFFD, because XML cannot
// hold them. libxlsxwriter escapes other control characters. A text that is too long is cut between characters.
std::string text_of_cell(std::string_view text) {
  constexpr std::string_view kUnderscore = "_x005F_", kReplacement = "\xef\xbf\xbd";
  std::string cell;
  std::size_t units = 0;
  while (!text.empty()) {
    const auto [value, bytes] = first_code_point(text);
    const bool is_character = bytes != 0 && value != 0 && value != 0xfffe && value != 0xffff;
    const std::string_view written = begins_escape(text) ? kUnderscore
                                     : is_character      ? text.substr(0, bytes)
                                                         : kReplacement;
    units += begins_escape(text) ? kUnderscore.size() : value > 0xffff ? 2 : 1;
    if (units > kMostText) break;
    cell += written;
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return cell;
}

// A temporary file that is unlinked at once, so that nothing remains if the process dies. Its name is in /proc, if that
// is mounted; else it is removed at the end.
class ScratchFile {
 public:
  ScratchFile() {
    std::error_code fault;
    const fs::path folder = fs::temp_directory_path(fault);
    errno = fault.value();
    if (fault) return;
    path_ = (folder / "tensorstat.XXXXXX").string();
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    const std::string nameless = "/proc/self/fd/" + std::to_string(descriptor_);
    if (descriptor_ < 0 || ::access(nameless.c_str(), R_OK | W_OK) != 0) return;
    ::unlink(path_.c_str());
    path_ = nameless;
  }
  ~ScratchFile() {
    if (descriptor_ < 0) return;
    if (!path_.starts_with("/proc/")) ::unlink(path_.c_str());
    ::close(descriptor_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  bool is_made() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

// libxlsxwriter also prints its errors to stderr. Only one thread runs here.
class SilentStderr {
 public:
  SilentStderr() : kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nothing = kept_ < 0 ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing < 0) return;
    ::dup2(nothing, STDERR_FILENO);
    ::close(nothing);
  }
  ~SilentStderr() {
    if (kept_ < 0) return;
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  SilentStderr(const SilentStderr&) = delete;
  SilentStderr& operator=(const SilentStderr&) = delete;

 private:
  const int kept_;
};

class Sheet {
 public:
  Sheet(const XlsxWriter& xlsx, lxw_workbook* book, const char* name)
      : xlsx_(xlsx), sheet_(xlsx.workbook_add_worksheet_(book, name)) {}

  // Returns the error of the first cell that could not be written.
  lxw_error add(const std::vector<msprobe::PythonValue>& cells, lxw_format* format) {
    if (sheet_ == nullptr) return LXW_ERROR_MEMORY_MALLOC_FAILED;
    lxw_error first = LXW_NO_ERROR;
    lxw_col_t column = 0;
    for (const msprobe::PythonValue& cell : cells) {
      const lxw_error fault = put(cell, column++, format);
      if (first == LXW_NO_ERROR) first = fault;
    }
    ++row_;
    return first;
  }

 private:
  lxw_error put(const msprobe::PythonValue& cell, lxw_col_t column, lxw_format* format) {
    if (const auto* truth = std::get_if<bool>(&cell)) {
      return xlsx_.worksheet_write_boolean_(sheet_, row_, column, *truth, format);
    }
    if (msprobe::is_text(cell) || !std::isfinite(msprobe::as_double(cell))) {
      return xlsx_.worksheet_write_string_(sheet_, row_, column, text_of_cell(msprobe::text_of(cell)).c_str(), format);
    }
    return xlsx_.worksheet_write_number_(sheet_, row_, column, msprobe::as_double(cell), format);
  }

  const XlsxWriter& xlsx_;
  lxw_worksheet* const sheet_;
  lxw_row_t row_ = 0;
};

// A spreadsheet that is being written to a temporary file.
class Workbook {
 public:
  explicit Workbook(const XlsxWriter& xlsx) : xlsx_(xlsx) {
    if (!file_.is_made()) return;
    lxw_workbook_options options{};
    options.constant_memory = LXW_TRUE;
    book_ = xlsx_.workbook_new_opt_(file_.path().c_str(), &options);
  }

  Status opened() const {
    if (!file_.is_made()) return fault_of(std::string("no temporary file: ") + std::system_category().message(errno));
    return book_ == nullptr ? Status(fault_of("out of memory")) : Status();
  }
  lxw_workbook* book() { return book_; }
  void note(lxw_error fault) { first_ = first_ == LXW_NO_ERROR ? fault : first_; }

  // Its bytes. Called once, also after faults, because this frees the book.
  Result<std::string> bytes() {
    note(xlsx_.workbook_close_(book_));
    if (first_ != LXW_NO_ERROR) return fault_of(xlsx_.lxw_strerror_(first_));
    return read_whole_file(file_.path(), kMostBytes);
  }

 private:
  const XlsxWriter& xlsx_;
  const ScratchFile file_;
  const SilentStderr silent_;
  lxw_workbook* book_ = nullptr;
  lxw_error first_ = LXW_NO_ERROR;
};

}  // namespace

Result<std::string> xlsx_of(const msprobe::Comparison& comparison) {
  const auto library = xlsx_writer();
  if (!library) return library.error();
  const XlsxWriter& xlsx = **library;
  Workbook made(xlsx);
  if (Status opened = made.opened(); !opened) return opened.error();
  lxw_workbook* book = made.book();
  lxw_format* const colours[] = {nullptr, xlsx.workbook_add_format_(book),
                                 xlsx.workbook_add_format_(book)};  // by Level
  xlsx.format_set_bg_color_(colours[1], LXW_COLOR_YELLOW);
  xlsx.format_set_bg_color_(colours[2], LXW_COLOR_RED);

  const std::vector<std::string> headings = msprobe::headings_of(comparison);
  const std::size_t rows = comparison.rows.size();
  const std::size_t sheets = rows < kMostRows ? 1 : (rows + kMostRows - 1) / kMostRows;
  const std::size_t rows_of_sheet = (rows + sheets - 1) / sheets;
  for (std::size_t i = 0; i < sheets; ++i) {
    Sheet sheet(xlsx, book, sheets == 1 ? "Sheet1" : ("part_" + std::to_string(i)).c_str());
    made.note(sheet.add({headings.begin(), headings.end()}, nullptr));
    for (std::size_t row = i * rows_of_sheet; row < std::min(rows, (i + 1) * rows_of_sheet); ++row) {
      const msprobe::ComparedRow& compared = comparison.rows[row];
      made.note(sheet.add(msprobe::cells_of(comparison, compared), colours[static_cast<int>(compared.level)]));
    }
  }
  return made.bytes();
}

Result<std::string> xlsx_of(std::span<const msprobe::MergedTables::Sheet> sheets) {
  const auto library = xlsx_writer();
  if (!library) return library.error();
  const XlsxWriter& xlsx = **library;
  Workbook made(xlsx);
  if (Status opened = made.opened(); !opened) return opened.error();
  for (const msprobe::MergedTables::Sheet& each : sheets) {
    Sheet sheet(xlsx, made.book(), each.column.c_str());
    for (const auto& line : each.lines) made.note(sheet.add(line, nullptr));
  }
  return made.bytes();
}

#else

namespace {

Error unsupported() {
  return {
      Code::kUnsupported,
      "xlsx: tensorstat was built without libxlsxwriter; install libxlsxwriter-dev and build it again, or name a .csv"};
}

}  // namespace

Result<std::string> xlsx_of(const msprobe::Comparison&) { return unsupported(); }
Result<std::string> xlsx_of(std::span<const msprobe::MergedTables::Sheet>) { return unsupported(); }

#endif

}  // namespace tensorstat::cli
