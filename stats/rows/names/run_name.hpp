// The name of a csv that is of one run of one operator, as CANN gives it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// "{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}", with / \ . space and control characters of the type and the
// name as _: the name of a dump file. May be longer than a file name can be.
std::string run_file_stem(const Identity& identity);

// The same with ".csv".
std::string run_file_name(const Identity& identity);

// Whether such a name can be read again: neither type nor name is empty.
bool can_name_run(const Identity& identity);

// The parts of such a name, as OperatorRunName has them. nullopt: it is no such name. Folders before it are ignored.
std::optional<Identity> identity_of_run(std::string_view path);

}  // namespace tensorstat
