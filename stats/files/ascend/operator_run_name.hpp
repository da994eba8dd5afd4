// The beginning of the names that MindSpore and CANN give to files of one run of an operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tensorstat {

// `{op_type}.{op_name}.{task_id}.{stream_id}.{time}`; r1.5's asynchronous dump has no stream id, which is 0 then, and
// is believed only where the time is one of after January 1970 and no part holds a dot. FFTS+ adds four numbers, of a
// thread, which are not kept; an operator whose name is a number, behind a type with dots, may be taken for one of them.
struct OperatorRunName {
  std::string_view op_type;  // may hold dots
  std::string_view op_name;  // not: they are _ in it
  std::uint64_t task_id = 0, stream_id = 0;
  std::uint64_t timestamp_us = 0;  // since the Unix epoch

  bool is_of_this_age() const { return timestamp_us >= 1'000'000'000'000; }

  // Numbers are plain digits below 2^64, and no part is empty; nullopt of any other name.
  static std::optional<OperatorRunName> from(std::string_view name);
};

}  // namespace tensorstat
