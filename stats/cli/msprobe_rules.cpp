#include "stats/cli/msprobe_rules.hpp"

#include <algorithm>

#include "stats/base/printable.hpp"
#include "stats/cli/exit_status.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/report/xlsx_table.hpp"
#include "stats/compare/msprobe/dump_pairs.hpp"
#include "stats/compare/msprobe/table.hpp"

namespace tensorstat::cli {
namespace {

// "out_rank1.csv" of "out.csv" and "_rank1".
std::string with_name(const std::string& path, const std::string& name) {
  const std::size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has_extension = dot != path.npos && (slash == path.npos || dot > slash);
  return has_extension ? path.substr(0, dot) + name + path.substr(dot) : path + name;
}

int compare_pair(const msprobe::DumpPair& pair, const Renames& names, const std::string& path, Console& console) {
  const auto compared = msprobe::compare_by_rules(
      pair.npu, pair.bench, [&](std::string_view words) { console.say(words); }, names);
  if (!compared) {
    console.say(compared.error().message);
    return kNotRead;
  }
  Output output(path);
  const auto write = [&](std::string_view text) { return output.write(text); };
  Status written;
  if (path.ends_with(".xlsx")) {
    const auto file = xlsx_of(*compared);
    written = file ? write(*file) : Status(file.error());
  } else {
    written = msprobe::write_csv(*compared, write);
  }
  if (written) written = output.close();
  if (!written) {
    console.say(written.error().message);
    return kNotWritten;
  }
  if (const auto count = compared->passed_nan_count(); count != 0) {
    console.say(printable(pair.bench) + ": " + std::to_string(count) +
                (count == 1 ? " row of Bench holds" : " rows of Bench hold") + " NaN or Inf, and msprobe passes " +
                (count == 1 ? "it" : "them") + ": it looks for these in NPU alone");
  }
  if (!compared->is_whole) return kNotRead;
  return compared->differs() ? kFound : kDone;
}

}  // namespace

int run_msprobe_rules(const std::string& a, const std::string& b, const std::string& names, const std::string& path,
                      Console& console) {
  const auto renames = Renames::parse(names);
  if (!renames) {
    console.say("names, " + renames.error().message);
    return kUsage;
  }
  const auto found = msprobe::pairs_of_dumps(a, b);
  if (!found) {
    console.say(found.error().message);
    return kNotRead;
  }
  const bool are_several = found->pairs.size() > 1;
  if (are_several && path.empty()) {
    console.say(std::to_string(found->pairs.size()) + " pairs of dumps have a table each: -o out.csv writes out" +
                found->pairs[0].name + ".csv and so on");
    return kUsage;
  }
  int status = kDone;
  for (const msprobe::DumpPair& pair : found->pairs) {
    status = std::max(status, compare_pair(pair, *renames, are_several ? with_name(path, pair.name) : path, console));
  }
  for (const auto* alone : {&found->only_npu, &found->only_bench}) {
    for (const std::string& dump : *alone) {
      console.say(printable(dump) + ": the other side has no dump of this step and rank");
      status = std::max<int>(status, kFound);
    }
  }
  return status;
}

}  // namespace tensorstat::cli
