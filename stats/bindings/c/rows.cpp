// Rows of statistics of <tensorstat/tensorstat.h>.
#include <tensorstat/tensorstat.h>

#include <filesystem>
#include <tensorstat/rows.hpp>

#include "stats/bindings/c/row_of_c.hpp"
#include "stats/bindings/c/support.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/row_source.hpp"
#include "stats/data/survey/row_files.hpp"
#ifdef TENSORSTAT_STORE
#include "stats/answer/store/store.hpp"

namespace {

// Each function that takes a folder of rows takes a store, as the command does. Set before any of them can be called.
[[maybe_unused]] const bool kHasStores = (tensorstat::add_row_source(tensorstat::source_of_stores()), true);

}  // namespace
#endif

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;
using c::RowOfC;

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
      return is_enough ? Status(Error{Code::kInvalid, "stopped by the caller"}) : Status();
    };
    std::vector<Error> faults;
    std::error_code ignored;
    const auto stored = stored_path(path);
    if ((stored && stored->file.empty()) || std::filesystem::is_directory(path, ignored)) {
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
