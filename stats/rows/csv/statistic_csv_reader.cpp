#include <algorithm>
#include <new>
#include <span>

#include "stats/base/printable.hpp"
#include "stats/files/io/random_file.hpp"
#include "stats/files/io/text_pieces.hpp"
#include "stats/rows/csv/csv_fields.hpp"
#include "stats/rows/csv/csv_heading.hpp"
#include "stats/rows/csv/csv_value.hpp"
#include "stats/rows/csv/growing_rows.hpp"
#include "stats/rows/csv/short_row.hpp"
#include "stats/rows/csv/statistic_csv.hpp"
#include "stats/rows/dump_json/dump_json.hpp"
#include "stats/rows/monitors/monitor_rows.hpp"
#include "stats/rows/names/run_name.hpp"
#include "stats/rows/store_door.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20, kMostRowBytes = std::size_t{64} << 20;

// So far the { of a dump.json is looked for.
constexpr std::size_t kMostBlanks = 256;

struct Fault {
  std::string what = {};        // empty: there is none
  std::size_t read_fields = 0;  // before it
  bool wants_more_text = false;
};

class CsvReader {
 public:
  // `whose`: what the name of the file says, where the rows do not. `growing`: an unfinished last line is no fault.
  CsvReader(std::string where, std::string_view text, NextPiece next_piece, Identity whose, const EachRow& each,
            GrowingRows* growing = nullptr)
      : where_(std::move(where)),
        text_(text),
        next_piece_(std::move(next_piece)),
        whose_(std::move(whose)),
        each_(each),
        growing_(growing) {}

  // What was read so far.
  const RowsRead& read() const { return read_; }

  Result<RowsRead> run() {
    if (Status begun = read_heading(); !begun) return begun.error();
    if (is_unfinished_) return read_;
    Row row;  // one for all, so that what the caller leaves of it is not allocated again
    while (true) {
      if (text_.empty()) {
        const auto more = refill();
        if (!more) return more.error();
        if (!*more) return read_;
      }
      clear(row);
      if (Status cut = read_row(row); !cut) return cut.error();
      if (is_unfinished_) return read_;
      ++read_.row_count;
      if (growing_) growing_->offset += cut_.bytes, growing_->dialect = read_.dialect;
      if (Status taken = each_(std::move(row)); !taken) return taken.error();
    }
  }

 private:
  Error failure(std::string_view what) const {
    return {Code::kUnreadable, where_ + ", line " + std::to_string(line_) + ": " + std::string(what)};
  }

  // More text behind what is left of it; false where there is no more.
  Result<bool> refill() {
    if (!next_piece_) return false;
    if (text_.size() > kMostRowBytes) return failure("a line longer than 64 MiB");
    buffer_.erase(0, buffer_.size() - text_.size());
    const auto more = next_piece_(buffer_);
    text_ = buffer_;
    return more;
  }

  void consume() {
    text_.remove_prefix(cut_.bytes);
    line_ += cut_.line_breaks;
  }

  // As a row that has just been made, with its memory.
  static void clear(Row& row) {
    static const Identity fresh;
    row.identity = fresh;
    row.data_size_bytes = 0;
    row.data_type.clear();
    row.shape.clear();
  }

  Status read_heading() {
    CutFault fault;
    while (fault = cut_record(text_, cut_), fault.wants_more_text) {
      const auto more = refill();
      if (!more) return more.error();
      if (!*more) break;
    }
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      return failure("it is UTF-16; save it as UTF-8");
    if (!fault.what.empty() && text_.find('\n') == text_.npos && text_.find('\r') != text_.npos) {
      return failure("its lines end in CR alone; end them in LF");
    }
    is_unfinished_ = growing_ && fault.wants_more_text;
    if (is_unfinished_) return {};
    if (!fault.what.empty()) return failure(fault.what);
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // Excel's "CSV UTF-8"
    if (cut_.views.front().starts_with(kByteOrderMark)) cut_.views.front().remove_prefix(kByteOrderMark.size());
    auto candidates = candidates_of(cut_.views);
    if (!candidates) return failure(candidates.error().message);
    candidates_ = *std::move(candidates);
    if (growing_ && growing_->dialect)
      std::erase_if(candidates_, [&](const Candidate& each) { return each.id != *growing_->dialect; });
    if (candidates_.empty()) return failure("the heading is of another dialect than before");
    if (growing_ && growing_->offset == 0)
      growing_->heading = text_.substr(0, cut_.bytes), growing_->offset = cut_.bytes;
    announce(candidates_.front());
    consume();
    return {};
  }

  void announce(const Candidate& candidate) {
    read_.categories.clear();
    read_.columns.clear();
    for (const Field& field : candidate.fields) {
      if (field.column == nullptr) {
        read_.categories.push_back(field.category);
      } else if (field.column->is_further) {
        read_.columns.emplace_back(field.column->name);
      }
    }
  }

  Status read_row(Row& row) {
    while (true) {
      const Fault fault = attempt(row);
      if (fault.what.empty()) return {};
      if (!fault.wants_more_text) return failure(fault.what);
      const auto more = refill();
      if (!more) return more.error();
      if (!*more && growing_) return is_unfinished_ = true, Status();
      if (!*more) return failure(fault.what);
    }
  }

  // The first row tells which dialect it is, and the others have to follow.
  Fault attempt(Row& row) {
    if (known_ != nullptr) {
      const Fault fault = understand(*known_, row);
      if (!fault.what.empty() && !fault.wants_more_text) return told_apart(fault);
      if (fault.what.empty()) consume();
      return fault;
    }
    Fault closest;
    std::size_t end_bytes = 0;  // of the closest dialect: if two read no field, the one with the line's end
    bool wants_more_text = false;
    const std::string_view line = text_.substr(0, std::min(text_.find('\n'), text_.size() - 1) + 1);
    for (const Candidate& candidate : candidates_) {
      Fault fault = understand(candidate, row);
      if (fault.what.empty()) {
        known_ = &candidate;
        read_.dialect = candidate.id;
        announce(candidate);
        consume();
        return {};
      }
      const std::string_view end = candidate.dialect->row_end;
      const std::size_t ends = line.ends_with(end) ? end.size() : 0;
      wants_more_text |= fault.wants_more_text;
      if (closest.what.empty() || fault.read_fields > closest.read_fields ||
          (fault.read_fields == closest.read_fields && ends > end_bytes)) {
        closest = std::move(fault);
        end_bytes = ends;
      }
    }
    closest.wants_more_text = wants_more_text;
    return closest;
  }

  // A row that is sound in another dialect is told to be of that one; but not where it ends as the known one's do and
  // the other's need less, because a value that is missing there reads as an empty cell here.
  Fault told_apart(const Fault& fault) {
    const std::string_view line = text_.substr(0, text_.find('\n') + 1), end = known_->dialect->row_end;
    for (const Candidate& other : candidates_) {
      Row ignored;
      if (line.ends_with(end) && other.dialect->row_end.size() < end.size()) continue;
      if (&other == known_ || !understand(other, ignored).what.empty()) continue;
      return {"this row is of " + std::string(name(other.id)) + ", those before it of " +
              std::string(name(known_->id))};
    }
    return fault;
  }

  // Reads the row at the beginning of the text as one of the candidate's dialect.
  Fault understand(const Candidate& candidate, Row& row) {
    const CsvDialect& dialect = *candidate.dialect;
    const CutFault cut = cut_row(candidate);
    if (!cut.what.empty()) return {std::string(cut.what), 0, cut.wants_more_text};
    if (cut_.views.size() != candidate.fields.size()) {
      return {std::to_string(cut_.views.size()) + " fields where the heading has " +
              std::to_string(candidate.fields.size())};
    }
    if (dialect.whose == Whose::kInFileName) row.identity = whose_;
    row.identity.more.clear();
    row.statistics.categories.clear();
    row.statistics.values.clear();
    row.statistics.categories.reserve(read_.categories.size());
    row.statistics.values.reserve(read_.categories.size());
    for (std::size_t i = 0; i < candidate.fields.size(); ++i) {
      const Field& field = candidate.fields[i];
      std::string what = field.column ? read_cell(*field.column, field.heading, cut_.views[i], dialect, row)
                                      : read_value(field, cut_.views[i], dialect, row);
      if (!what.empty()) return {std::move(what), i + 1};
    }
    return {};
  }

  CutFault cut_row(const Candidate& candidate) {
    const CsvDialect& dialect = *candidate.dialect;
    if (dialect.quotes == Quotes::kWhereNeeded) return cut_record(text_, cut_);
    if (!dialect.may_lack_count) return cut_bare_row(text_, candidate.fields.size(), dialect, cut_);
    const CutFault cut = cut_at_commas(text_, cut_);
    if (cut.what.empty()) fill_short_row(candidate.fields, dialect.missing, cut_.views);
    return cut;
  }

  static std::string not_like(std::string_view heading, std::string_view text, std::string_view rest) {
    return std::string(heading) + " is \"" + shown(text) + "\"" + std::string(rest);
  }

  // What is wrong with the cell, or nothing.
  static std::string read_cell(const Column& column, std::string_view heading, std::string_view text,
                               const CsvDialect& dialect, Row& row) {
    if (column.kind == ColumnKind::kShape) {
      auto shape = shape_from(text, dialect);
      const auto& marks = dialect.shapes.front();
      if (!shape) {
        std::string like = ", not like ";
        like.append(marks.open).append("2").append(marks.between).append("3").append(marks.close);
        return not_like(heading, text, like);
      }
      row.shape = *std::move(shape);
      return {};
    }
    if (column.is_further && text.empty()) return {};
    if (column.kind == ColumnKind::kNumber) {
      const auto number = whole_number(text);
      if (!number) return not_like(heading, text, ", not a whole number");
      if (column.is_further) {
        row.identity.set(column.name, *number);
      } else {
        *column.number.of(row) = *number;
      }
      return {};
    }
    if (dialect.quotes == Quotes::kWhereNeeded && text.starts_with('\'') && wants_apostrophe(text)) {
      text.remove_prefix(1);
    }
    if (column.kind == ColumnKind::kIo) {
      if (text == dialect.input) text = "input";
      if (text == dialect.output) text = "output";
      if (text != "input" && text != "output") return not_like(heading, text, ", neither input nor output");
    }
    if (column.kind == ColumnKind::kDataType) text = data_type_from(text, dialect);
    if (column.is_further) {
      row.identity.set(column.name, std::string(text));
    } else {
      column.text.of(row)->assign(text);
    }
    return {};
  }

  std::string read_value(const Field& field, std::string_view text, const CsvDialect& dialect, Row& row) {
    if (row.data_type != data_type_) {
      data_type_ = row.data_type;
      element_ = held_as(data_type_);
    }
    auto value = value_from(text, kind(field.category), element_, dialect);
    if (!value) return not_like(field.heading, text, "");
    row.statistics.categories.push_back(field.category);
    row.statistics.values.push_back(*std::move(value));
    return {};
  }

  const std::string where_;
  std::string buffer_;     // where the text comes in pieces
  std::string_view text_;  // what is left of it
  const NextPiece next_piece_;
  const Identity whose_;
  const EachRow& each_;
  GrowingRows* const growing_;
  bool is_unfinished_ = false;  // the last line of what grows
  RowsRead read_;
  std::vector<Candidate> candidates_;
  const Candidate* known_ = nullptr;
  Fields cut_;
  std::string data_type_;       // of the last row, whose
  Held element_ = Held::kReal;  // elements are held so
  std::uint64_t line_ = 1;
};

}  // namespace

Result<RowsRead> read_rows(std::string_view text, const EachRow& each) try {
  if (!is_dump_json(text)) return CsvReader("statistic.csv", text, nullptr, {}, each).run();
  const NextPiece next = [&](std::string& piece) -> Result<bool> {
    piece += text.substr(0, kPieceBytes);
    text.remove_prefix(std::min(text.size(), kPieceBytes));
    return !text.empty();
  };
  RowsRead read;
  if (Status all = read_dump_json("dump.json", next, each, read); !all) return all.error();
  return read;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

namespace {

// What a file begins with.
Result<std::string> beginning_of(const std::string& path) {
  const auto file = RandomFile::open(path);
  if (!file) return file.error();
  std::string text(std::min<std::uint64_t>(file->size_bytes(), kMostBlanks), '\0');
  if (Status read = file->read_at(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

}  // namespace

Result<RowsRead> read_rows_of_file(const std::string& path, const EachRow& each) {
  return read_calls_of_file(path, each, {});
}

Result<RowsRead> read_calls_of_file(const std::string& path, const EachRow& each, const CallListener& listener) try {
  if (const auto stored = stored_path(path)) return store_door()->read(*stored, each);
  const auto beginning = beginning_of(path);
  if (!beginning) return beginning.error();
  auto next_piece = pieces_of(path);
  if (!next_piece) return next_piece.error();
  RowsRead read;
  if (is_dump_json(*beginning)) {
    if (Status all = read_dump_json(printable(path), *next_piece, each, read, listener); !all) return all.error();
    return read;
  }
  if (const auto monitor = monitor_of(*beginning)) return read_monitor(*monitor, path, *next_piece, each);
  return CsvReader(printable(path), {}, *std::move(next_piece), run_or_file(path), each).run();
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
  return CsvReader(printable(path) + where, {}, *std::move(next_piece), run_or_file(path), each, &so_far).run();
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<RowsRead> read_columns(const std::string& path) try {
  if (const auto stored = stored_path(path)) return store_door()->columns(*stored);
  const auto beginning = beginning_of(path);
  if (!beginning) return beginning.error();
  auto next_piece = pieces_of(path);
  if (!next_piece) return next_piece.error();
  if (is_dump_json(*beginning)) {
    RowsRead read;
    const Status all = read_dump_json(
        printable(path), *next_piece, [](Row&&) { return Status(); }, read);
    if (!all && read.row_count == 0) return all.error();
    return read;
  }
  const EachRow stop = [](Row&&) { return Status(Error{Code::kInvalid, "enough"}); };
  if (const auto monitor = monitor_of(*beginning)) {
    return read_monitor(*monitor, path, *next_piece, [](Row&&) { return Status(); });
  }
  CsvReader reader(printable(path), {}, *std::move(next_piece), {}, stop);
  auto all = reader.run();
  if (reader.read().row_count == 0) return all;
  return reader.read();
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
