// Rows that monitors of other tools write: msprobe's csv, and the statistics log of nvdlfw-inspect (TransformerEngine).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/csv/growing_rows.hpp"
#include "stats/data/text/next_piece.hpp"

namespace tensorstat {

enum class Monitor : std::uint8_t { kMsprobe, kInspect };

// The monitor that writes files with this beginning; nullopt: none of them.
std::optional<Monitor> monitor_of(std::string_view beginning);

// Whether a search through folders takes the file as a monitor's: by its path, and a csv also by its heading, because
// others name files so, too. A csv that is still empty is taken.
bool is_file_of_monitor(const std::string& path);

// Reads them as rows. Each has the further columns rank, of the file's path, and iteration, the monitor's step.
//
// msprobe: `vpp_stage,name,step[,micro_step]` and statistics; min, max, mean, norm and nans are taken; a "nan"
// may be NaN or a missing value, msprobe does not tell. What was monitored is in the file's name: param_... are
// Parameter, ...grad... are Gradient, the rest is called as it is: actv. Parameters keep their names, the others have
// this word behind it: "layers.0.weight/grad_unreduced". A virtual stage above 0 stands in front:
// "vpp1.layers.0.weight".
//
// nvdlfw-inspect: a line has one statistic: `INFO - NAME_TENSOR_STATISTIC iteration=000002 value=4.3188`. Consecutive
// lines of one tensor and iteration become a row. weight becomes Parameter, wgrad Gradient, and others keep their name.
// Left out: statistics with another definition (std, underflows%), and the value 0.0000, because with four decimals it
// only tells that the size is below 0.00005.
//
// With `growing`, reads only the part behind it, and updates it before each row is handed out. A last line without its
// end is not read, and neither is the last tensor of a log.
Result<RowsRead> read_monitor(Monitor monitor, const std::string& path, const NextPiece& next, const EachRow& each,
                              GrowingRows* growing = nullptr);

}  // namespace tensorstat
