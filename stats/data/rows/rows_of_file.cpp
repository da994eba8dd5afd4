#include "stats/data/rows/rows_of_file.hpp"

#include <algorithm>
#include <new>
#include <span>

#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/io/text_pieces.hpp"
#include "stats/data/rows/csv/statistic_csv_reader.hpp"
#include "stats/data/rows/monitors/monitor_rows.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/data/rows/row_source.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// So far the { of a dump.json is looked for.
constexpr std::size_t kMostBlanks = 256;

// The first bytes of a file.
Result<std::string> beginning_of(const std::string& path) {
  const auto file = RandomFile::open(path);
  if (!file) return file.error();
  std::string text(std::min<std::uint64_t>(file->size_bytes(), kMostBlanks), '\0');
  if (Status read = file->read_at(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

Result<RowsRead> read_or_error(const Status& all, const RowsRead& read) {
  if (!all) return all.error();
  return read;
}

}  // namespace

Result<RowsRead> read_rows(std::string_view text, const EachRow& each) try {
  const FloatEnvironment ieee;
  RowsRead read;
  if (!is_dump_json(text)) return read_or_error(read_statistic_csv({"statistic.csv", text}, each, read), read);
  const NextPiece next = [&](std::string& piece) -> Result<bool> {
    piece += text.substr(0, kPieceBytes);
    text.remove_prefix(std::min(text.size(), kPieceBytes));
    return !text.empty();
  };
  return read_or_error(read_dump_json("dump.json", next, each, read), read);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<RowsRead> read_rows_of_file(const std::string& path, const EachRow& each) {
  const FloatEnvironment ieee;
  return read_calls_of_file(path, each, {});
}

Result<RowsRead> read_calls_of_file(const std::string& path, const EachRow& each, const CallListener& listener) try {
  if (const auto stored = stored_path(path)) return stored->source->read(*stored, each);
  const auto beginning = beginning_of(path);
  if (!beginning) return beginning.error();
  auto next_piece = pieces_of(path);
  if (!next_piece) return next_piece.error();
  RowsRead read;
  if (is_dump_json(*beginning))
    return read_or_error(read_dump_json(printable(path), *next_piece, each, read, listener), read);
  if (const auto monitor = monitor_of(*beginning)) return read_monitor(*monitor, path, *next_piece, each);
  return read_or_error(read_statistic_csv({printable(path), {}, *std::move(next_piece), run_or_file(path)}, each, read),
                       read);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<RowsRead> read_growing_rows(const std::string& path, GrowingRows& so_far, const EachRow& each) try {
  auto next_piece = pieces_of(path, so_far.offset);
  if (!next_piece) return next_piece.error();
  if (so_far.offset != 0) {
    next_piece = NextPiece([heading = so_far.heading, next = *std::move(next_piece)](std::string& piece) mutable {
      if (heading.empty()) return next(piece);
      piece += std::exchange(heading, {});
      return Result<bool>(true);
    });
  }
  const auto beginning = beginning_of(path);
  if (!beginning) return beginning.error();
  if (const auto monitor = monitor_of(*beginning)) return read_monitor(*monitor, path, *next_piece, each, &so_far);
  // Lines are counted from there on; the heading is the first.
  const std::string where = so_far.offset == 0 ? "" : ", behind byte " + std::to_string(so_far.offset);
  RowsRead read;
  return read_or_error(
      read_statistic_csv({printable(path) + where, {}, *std::move(next_piece), run_or_file(path), &so_far}, each, read),
      read);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<RowsRead> read_columns(const std::string& path) try {
  if (const auto stored = stored_path(path)) return stored->source->columns(*stored);
  const auto beginning = beginning_of(path);
  if (!beginning) return beginning.error();
  auto next_piece = pieces_of(path);
  if (!next_piece) return next_piece.error();
  const EachRow go_on = [](Row&&) { return Status(); };
  const EachRow stop = [](Row&&) { return Status(Error{Code::kInvalid, "enough"}); };
  if (const auto monitor = monitor_of(*beginning)) {
    RowsRead seen;  // also of a file with a fault: the rows before it are read
    const EachRow note = [&](Row&& row) {
      ++seen.row_count;
      for (const Category each : row.statistics.categories) {
        if (std::ranges::count(seen.categories, each) == 0) seen.categories.push_back(each);
      }
      for (const auto& [name, cell] : row.identity.more) {
        if (std::ranges::count(seen.columns, name) == 0) seen.columns.push_back(name);
      }
      return Status();
    };
    auto all = read_monitor(*monitor, path, *next_piece, note);
    if (!all && seen.row_count != 0) return seen;
    return all;
  }
  RowsRead read;
  const Status all = is_dump_json(*beginning)
                         ? read_dump_json(printable(path), *next_piece, go_on, read)
                         : read_statistic_csv({printable(path), {}, *std::move(next_piece)}, stop, read);
  if (!all && read.row_count == 0) return all.error();
  return read;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
