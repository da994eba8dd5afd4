// Rows of statistics into a dump.json of msprobe, with a record of what that has no form for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/dump/msprobe/call_keys.hpp"
#include "stats/rows/dump_json/call_layout.hpp"
#include "stats/rows/dump_json/dump_json.hpp"
#include "stats/rows/conversion_losses.hpp"
#include "stats/rows/names/run_cut.hpp"

namespace tensorstat {

// A run of an operator is a call; how it is called, api_name.hpp says. Of the statistics, max, min, avg and l2norm have
// a place, as Max, Min, Mean and Norm; further, crc32 or xor, as md5, and requires_grad, which is false of a row that does
// not say it. A tensor whose name says so is a parameter, a gradient of one, or an argument with a name; of other inputs
// the slot is the place. Values are written as they are and not rounded. The task is "statistics" and the level "mix",
// since rows do not tell one.
//
// A call that is told whole, out of another dump.json, keeps what stands around its tensors: arguments that are none, and
// how all are nested.
//
// Every call is read back as it was written, and compared, so that no loss goes unsaid; one that would not be read again
// is left out and said. Memory grows with the number of calls, by their keys alone.
class DumpJsonCarrier {
 public:
  // `framework`: "" is mindspore. `losses` outlives it.
  DumpJsonCarrier(std::string_view framework, RowWriter::Sink sink, Losses& losses);

  // What the sink returns as an error is returned.
  Status carry(Row row);
  // Around the rows of a call that was read out of a dump.json. A call without rows is carried, too.
  Status begin_call();
  Status end_call(CallRead&& call);
  Status finish();

  std::uint64_t rows() const { return rows_; }  // that were written

 private:
  void drop(Row& row);
  Status write_call();
  Status write_call(std::vector<Row> rows, std::string_view op_type, std::string_view op_name, CallLayout layout);
  Result<std::vector<Row>> read_back(const std::string& call) const;

  const std::string framework_, head_;
  const RowWriter::Sink sink_;
  Losses& losses_;
  RunCut cut_;
  CallKeys keys_;
  std::vector<Row> held_;  // of one run
  std::uint64_t rows_ = 0;
  bool is_begun_ = false, is_in_call_ = false;
};

}  // namespace tensorstat
