#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/names/mindspore_file_name.hpp"
#include "stats/data/rows/names/msprobe_file_name.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/job/dump/mindspore/dump_folders.hpp"
#include "stats/job/dump/msprobe/api_name.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

// Names in the other dialects, and folders in all dialects.
void read_by_others(Input path) {
  if (const auto tensor = msprobe_tensor_name(path)) {
    demand(tensor->identity.io == "input" || tensor->identity.io == "output", "io is input or output");
    demand(path.find(tensor->identity.op_name) != path.npos, "the key is part of the path");
    const ApiName api = api_name_of(tensor->identity.op_type, tensor->identity.op_name);
    demand(api_name_of("", api.key(api.count.value_or(7))).family() == api.family(), "a call's key is of its family");
  }
  if (const auto run = identity_of_run(path)) {
    const std::string written = run_file_name(*run);
    const auto again = identity_of_run(written);
    demand(again.has_value() && run_file_name(*again) == written, "a run's name is read back");
  }
  if (const auto run = named_run(path)) demand(!run->op_name.empty(), "a run's operator has a name");
  static_cast<void>(named_tensor(path, 0, "input.1"));
  static_cast<void>(is_number(path));
  // Absolute, because for a relative path the current folder would be looked up.
  const std::string below = "/d/" + std::string(path);
  if (const auto place = place_in_dump(below)) {
    Identity identity;
    add_place(below, place, identity);
    demand(identity.find("rank") != nullptr && identity.find("path") != nullptr, "a place is told");
  }
}

}  // namespace

void file_name(Input path) {
  read_by_others(path);
  constexpr std::uint64_t kModified = 1733905446000001;
  const NamedTensor named = named_tensor(path, kModified);
  const Identity& identity = named.identity;
  demand(identity.io == "input" || identity.io == "output", "io is input or output");
  demand(path.find(identity.op_name) != path.npos, "the name is part of the path");

  // The reader parses the writer's name back, and the name has no slash.
  const std::string dtype = named.original_dtype.empty() ? "float32" : "int4";
  const std::string written = npy_file_name(identity, "DefaultFormat", dtype);
  for (const unsigned char c : written) {
    demand(c != '/' && c >= ' ' && c != 0x7f, "a file name holds neither / nor control characters");
  }
  if (identity.op_type.empty() || identity.op_name.empty()) return;
  // If the type has dots and the name is a number, nothing distinguishes the name from the task's number.
  if (identity.op_type.find('.') != identity.op_type.npos &&
      identity.op_name.find_first_not_of("0123456789") == identity.op_name.npos)
    return;
  const NamedTensor again = named_tensor("folder/" + written, kModified + 1);
  demand(again.original_dtype == dtype, "the dtype is read back");
  demand(again.identity.task_id == identity.task_id && again.identity.stream_id == identity.stream_id &&
             again.identity.timestamp_us == identity.timestamp_us && again.identity.io == identity.io &&
             again.identity.slot == identity.slot,
         "the numbers are read back");
  demand(npy_file_name(again.identity, "DefaultFormat", dtype) == written, "escaping is idempotent");
}

}  // namespace tensorstat::fuzz
