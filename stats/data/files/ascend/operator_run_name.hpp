// Parses the names of MindSpore's and CANN's files of one run of an operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tensorstat {

// `{op_type}.{op_name}.{task_id}.{stream_id}.{time}`. r1.5's asynchronous dump writes no stream id, which is then 0.
// Such a name is accepted only if the time is after January 1970 and no part contains a dot. FFTS+ adds four numbers of
// a thread, which are ignored. Known limit: an operator with a number as its name, and dots in its type, may be taken
// for one with FFTS+ numbers.
struct OperatorRunName {
  std::string_view op_type;  // may contain dots
  std::string_view op_name;  // contains none; dots became _
  std::uint64_t task_id = 0, stream_id = 0;
  std::uint64_t timestamp_us = 0;  // since the Unix epoch

  bool is_of_this_age() const { return timestamp_us >= 1'000'000'000'000; }

  // nullopt if a number is not plain digits below 2^64, or if a part is empty.
  static std::optional<OperatorRunName> from(std::string_view name);
};

}  // namespace tensorstat
