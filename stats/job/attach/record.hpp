// The rows of one context in DUMP/rank_N/attach/0/ITERATION/statistic.csv, and the hints beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat::attach {

// Not thread-safe: the collector's.
class Recorder {
 public:
  // Takes the first rank that is free. Null if the folder cannot be made.
  static std::unique_ptr<Recorder> open(const std::string& out, const Categories& statistics);
  virtual ~Recorder() = default;

  // Appends the rows of a launch. Returns how many are written or wait for the disk.
  virtual std::size_t write(const std::vector<Row>& rows) = 0;
  // Says that arguments of a launch are not in the rows.
  virtual void write_not_seen(std::string_view op_name, std::string_view io, std::string_view why) = 0;
  virtual void write_poisoned(std::string_view op_name, std::string_view what) = 0;
  virtual void close() = 0;
};

}  // namespace tensorstat::attach
