#include "stats/dump/mindspore/file_name.hpp"

#include "stats/dump/mindspore/dump_folders.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {

void file_name(Input path) {
  constexpr std::uint64_t kModified = 1733905446000001;
  const NamedTensor named = named_tensor(path, kModified);
  const Identity& who = named.identity;
  demand(who.io == "input" || who.io == "output", "io is input or output");
  demand(path.find(who.op_name) != path.npos, "the name is part of the path");

  // What the writer makes of an identity, the reader understands, and no folder is left by it.
  const std::string dtype = named.original_dtype.empty() ? "float32" : "int4";
  const std::string written = npy_file_name(who, "DefaultFormat", dtype);
  for (const unsigned char c : written) {
    demand(c != '/' && c >= ' ' && c != 0x7f, "a file name holds neither / nor control characters");
  }
  if (who.op_type.empty() || who.op_name.empty()) return;
  const NamedTensor again = named_tensor("folder/" + written, kModified + 1);
  demand(again.original_dtype == dtype, "the dtype is read back");
  demand(again.identity.task_id == who.task_id && again.identity.stream_id == who.stream_id &&
             again.identity.timestamp_us == who.timestamp_us && again.identity.io == who.io &&
             again.identity.slot == who.slot,
         "the numbers are read back");
  demand(npy_file_name(again.identity, "DefaultFormat", dtype) == written,
         "escaping is idempotent");
}

}  // namespace tensorstat::fuzz
