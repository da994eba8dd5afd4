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
  if (const auto found = msprobe_tensor_name(path)) {
    demand(found->identity.io == "input" || found->identity.io == "output", "io is input or output");
    demand(path.find(found->identity.op_name) != path.npos, "the key is part of the path");
    const ApiName api = api_name_of(found->identity.op_type, found->identity.op_name);
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
    Identity who;
    add_place(below, place, who);
    demand(who.find("rank") != nullptr && who.find("path") != nullptr, "a place is told");
  }
}

}  // namespace

void file_name(Input path) {
  read_by_others(path);
  constexpr std::uint64_t kModified = 1733905446000001;
  const NamedTensor named = named_tensor(path, kModified);
  const Identity& who = named.identity;
  demand(who.io == "input" || who.io == "output", "io is input or output");
  demand(path.find(who.op_name) != path.npos, "the name is part of the path");

  // The reader parses the writer's name back, and the name has no slash.
  const std::string dtype = named.original_dtype.empty() ? "float32" : "int4";
  const std::string written = npy_file_name(who, "DefaultFormat", dtype);
  for (const unsigned char c : written) {
    demand(c != '/' && c >= ' ' && c != 0x7f, "a file name holds neither / nor control characters");
  }
  if (who.op_type.empty() || who.op_name.empty()) return;
  // If the type has dots and the name is a number, nothing distinguishes the name from the task's number.
  if (who.op_type.find('.') != who.op_type.npos && who.op_name.find_first_not_of("0123456789") == who.op_name.npos)
    return;
  const NamedTensor again = named_tensor("folder/" + written, kModified + 1);
  demand(again.original_dtype == dtype, "the dtype is read back");
  demand(again.identity.task_id == who.task_id && again.identity.stream_id == who.stream_id &&
             again.identity.timestamp_us == who.timestamp_us && again.identity.io == who.io &&
             again.identity.slot == who.slot,
         "the numbers are read back");
  demand(npy_file_name(again.identity, "DefaultFormat", dtype) == written, "escaping is idempotent");
}

}  // namespace tensorstat::fuzz
