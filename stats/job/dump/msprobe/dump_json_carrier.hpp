// Writes rows of statistics as a dump.json of msprobe, and records what dump.json cannot express.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/rows/conversion_losses.hpp"
#include "stats/data/rows/dump_json/call_layout.hpp"
#include "stats/data/rows/dump_json/dump_json.hpp"
#include "stats/data/rows/names/run_cut.hpp"
#include "stats/job/dump/msprobe/call_keys.hpp"

namespace tensorstat {

// A run of an operator becomes a call; api_name.hpp has the rules for its name. max, min, avg and l2norm become Max,
// Min, Mean and Norm. crc32 or xor becomes md5. requires_grad is false if the row has none. A tensor becomes a
// parameter, a gradient of a parameter or a named argument if its name says so; other inputs go by slot. Values are not
// rounded. The task is "statistics" and the level is "mix", because rows have neither.
//
// A call read from another dump.json keeps its arguments that are not tensors, and its nesting.
//
// Every call is read back and compared, so that each loss is reported. A call that cannot be read back is left out,
// with a report. Memory grows only with the keys of the calls.
class DumpJsonCarrier {
 public:
  // An empty `framework` means mindspore. `losses` must outlive this object.
  DumpJsonCarrier(std::string_view framework, RowWriter::Sink sink, ConversionLosses& losses);

  // Returns the sink's errors.
  Status carry(Row row);
  // Enclose the rows of a call that was read from a dump.json. A call without rows is written, too.
  Status begin_call();
  Status end_call(CallRead&& call);
  Status finish();

  std::uint64_t rows() const { return rows_; }  // rows written

 private:
  void drop(Row& row);
  Status write_call();
  Status write_call(std::vector<Row> rows, std::string_view op_type, std::string_view op_name, CallLayout layout);
  Result<std::vector<Row>> read_back(const std::string& call) const;

  const std::string framework_, head_;
  const RowWriter::Sink sink_;
  ConversionLosses& losses_;
  RunCut cut_;
  CallKeys keys_;
  std::vector<Row> held_;  // of one run
  std::uint64_t rows_ = 0;
  bool is_begun_ = false, is_in_call_ = false;
};

}  // namespace tensorstat
