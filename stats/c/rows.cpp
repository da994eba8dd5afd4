// Rows of statistics of <tensorstat/tensorstat.h>.
#include <filesystem>
#include <tensorstat/rows.hpp>

#include "stats/c/support.hpp"
#include "stats/rows/names/dump_place.hpp"
#include "stats/survey/row_files.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

namespace {

// A C row. Its pointers refer to members here or to the C++ row. The object is reused for each row, to reuse its
// memory.
class RowOfC {
 public:
  const tensorstat_row& of(const Row& row) {
    const Identity& who = row.identity;
    statistics_.clear();
    values_.clear();
    cells_.clear();
    for (const Category each : row.statistics.categories) statistics_.push_back(static_cast<int32_t>(each));
    for (const Value& each : row.statistics.values) values_.push_back(c::value_of(each));
    for (const auto& [name, cell] : who.more) {
      const auto* const text = std::get_if<std::string>(&cell);
      cells_.push_back({name.c_str(), text == nullptr ? nullptr : text->c_str(),
                        text == nullptr ? std::get<std::uint64_t>(cell) : 0});
    }
    row_ = {sizeof row_,
            who.op_type.c_str(),
            who.op_name.c_str(),
            who.task_id,
            who.stream_id,
            who.timestamp_us,
            who.io.c_str(),
            who.slot,
            row.data_size_bytes,
            row.data_type.c_str(),
            row.shape.data(),
            static_cast<uint32_t>(row.shape.size()),
            static_cast<uint32_t>(values_.size()),
            static_cast<uint32_t>(cells_.size()),
            statistics_.data(),
            values_.data(),
            cells_.data()};
    return row_;
  }

 private:
  std::vector<int32_t> statistics_;
  std::vector<tensorstat_value> values_;
  std::vector<tensorstat_cell> cells_;
  tensorstat_row row_{};
};

}  // namespace

tensorstat_code tensorstat_rows_read(const char* path, tensorstat_each_row each, void* context, uint64_t* row_count) {
  return guarded([&]() -> tensorstat_code {
    if (path == nullptr || each == nullptr)
      return missing(path == nullptr ? "the path" : "the function that gets rows");
    RowOfC row;
    uint64_t count = 0;
    bool is_enough = false;
    const auto hand_over = [&](Row&& next) -> Status {
      ++count;
      is_enough = each(context, &row.of(next)) != 0;
      return is_enough ? Status(Error{Code::kInvalid, "no more rows are wanted"}) : Status();
    };
    std::vector<Error> faults;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      const auto files = find_row_files({path}, faults);
      if (files.empty() && !faults.empty()) faults.front().code = Code::kUnsupported;
      for (const RowFile& file : files) {
        const auto place = place_of_rows(file.path);
        const auto read = read_rows_of_file(file.path, [&](Row&& next) {
          add_place(file.path, place, next.identity);
          return hand_over(std::move(next));
        });
        if (is_enough) break;
        if (!read) faults.push_back(read.error());
      }
    } else if (const auto read = read_rows_of_file(path, hand_over); !read) {
      faults.push_back(read.error());
    }
    if (row_count != nullptr) *row_count = count;
    return faults.empty() || is_enough ? TENSORSTAT_OK : failed(faults.front());
  });
}
