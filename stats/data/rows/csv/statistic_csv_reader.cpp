#include "stats/data/rows/csv/statistic_csv_reader.hpp"

#include <algorithm>
#include <span>

#include "stats/core/base/printable.hpp"
#include "stats/data/rows/csv/csv_fields.hpp"
#include "stats/data/rows/csv/csv_heading.hpp"
#include "stats/data/rows/csv/csv_value.hpp"
#include "stats/data/rows/csv/short_row.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostRowBytes = std::size_t{64} << 20;

struct Fault {
  std::string what = {};        // the fault; empty: the row is right
  std::size_t read_fields = 0;  // before it
  bool wants_more_text = false;
};

class CsvReader {
 public:
  CsvReader(CsvSource source, const EachRow& each, RowsRead& read)
      : source_(std::move(source)), text_(source_.text), each_(each), read_(read) {}

  Status run() {
    if (Status begun = read_heading(); !begun || is_unfinished_) return begun;
    Row row;  // one for all, so that what the caller leaves of it is not allocated again
    while (true) {
      if (text_.empty()) {
        const auto more = refill();
        if (!more) return more.error();
        if (!*more) return {};
      }
      clear(row);
      if (Status cut = read_row(row); !cut || is_unfinished_) return cut;
      ++read_.row_count;
      if (source_.growing) source_.growing->offset += cut_.bytes, source_.growing->dialect = read_.dialect;
      if (Status taken = each_(std::move(row)); !taken) return taken;
    }
  }

 private:
  Error failure(std::string_view what) const {
    return {Code::kUnreadable, source_.where + ", line " + std::to_string(line_) + ": " + std::string(what)};
  }

  // Reads more text behind the rest of text_; false at the end.
  Result<bool> refill() {
    if (!source_.next_piece) return false;
    if (text_.size() > kMostRowBytes) return failure("a line longer than 64 MiB");
    buffer_.erase(0, buffer_.size() - text_.size());
    const auto more = source_.next_piece(buffer_);
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
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // Excel's "CSV UTF-8"
    std::size_t mark_bytes = 0;
    const auto cut = [&] {  // the first heading may stand in quotes behind the mark
      mark_bytes = text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
      return cut_record(text_.substr(mark_bytes), cut_);
    };
    CutFault fault;
    while (fault = cut(), fault.wants_more_text) {
      const auto more = refill();
      if (!more) return more.error();
      if (!*more) break;
    }
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff"))
      return failure("it is UTF-16; save it as UTF-8");
    if (!fault.what.empty() && text_.find('\n') == text_.npos && text_.find('\r') != text_.npos) {
      return failure("its lines end in CR alone; end them in LF");
    }
    is_unfinished_ = source_.growing && fault.wants_more_text;
    if (is_unfinished_) return {};
    if (!fault.what.empty()) return failure(fault.what);
    cut_.bytes += mark_bytes;
    auto candidates = candidates_of(cut_.views);
    if (!candidates) return failure(candidates.error().message);
    candidates_ = *std::move(candidates);
    if (source_.growing && source_.growing->dialect)
      std::erase_if(candidates_, [&](const Candidate& each) { return each.id != *source_.growing->dialect; });
    if (candidates_.empty()) return failure("the heading is of another dialect than before");
    if (source_.growing && source_.growing->offset == 0)
      source_.growing->heading = text_.substr(0, cut_.bytes), source_.growing->offset = cut_.bytes;
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
      if (!*more && source_.growing) return is_unfinished_ = true, Status();
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
    if (dialect.whose == Whose::kInFileName) row.identity = source_.of_file;
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

  // The fault of the cell; empty: it was read.
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
      if (*number > column.greatest) return not_like(heading, text, ", more than " + std::to_string(column.greatest));
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
      element_ = element_kind(data_type_);
    }
    auto value = value_from(text, kind(field.category), element_, dialect);
    if (!value) return not_like(field.heading, text, "");
    row.statistics.categories.push_back(field.category);
    row.statistics.values.push_back(*std::move(value));
    return {};
  }

  const CsvSource source_;
  std::string buffer_;     // holds the text if it comes in pieces
  std::string_view text_;  // the unread rest of the text
  const EachRow& each_;
  bool is_unfinished_ = false;  // the last line of what grows
  RowsRead& read_;
  std::vector<Candidate> candidates_;
  const Candidate* known_ = nullptr;
  Fields cut_;
  std::string data_type_;                     // the last row's, to save a lookup
  ElementKind element_ = ElementKind::kReal;  // how its elements are held
  std::uint64_t line_ = 1;
};

}  // namespace

Status read_statistic_csv(CsvSource source, const EachRow& each, RowsRead& read) {
  return CsvReader(std::move(source), each, read).run();
}

}  // namespace tensorstat
