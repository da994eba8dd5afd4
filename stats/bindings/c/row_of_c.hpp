// A row as C sees it.
#pragma once

#include <tensorstat/tensorstat.h>

#include <string>
#include <tensorstat/rows.hpp>
#include <variant>
#include <vector>

#include "stats/bindings/c/support.hpp"

namespace tensorstat::c {

// A C row. Its pointers refer to members here or to the C++ row. The object is reused for each row, to reuse its
// memory.
class RowOfC {
 public:
  const tensorstat_row& of(const Row& row) {
    const Identity& identity = row.identity;
    statistics_.clear();
    values_.clear();
    cells_.clear();
    for (const Category each : row.statistics.categories) statistics_.push_back(static_cast<int32_t>(each));
    for (const Value& each : row.statistics.values) values_.push_back(value_of(each));
    for (const auto& [name, cell] : identity.more) {
      const auto* const text = std::get_if<std::string>(&cell);
      cells_.push_back({name.c_str(), text == nullptr ? nullptr : text->c_str(),
                        text == nullptr ? std::get<std::uint64_t>(cell) : 0});
    }
    row_ = {sizeof row_,
            identity.op_type.c_str(),
            identity.op_name.c_str(),
            identity.task_id,
            identity.stream_id,
            identity.timestamp_us,
            identity.io.c_str(),
            identity.slot,
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

}  // namespace tensorstat::c
