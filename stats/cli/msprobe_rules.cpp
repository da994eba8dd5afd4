#include "stats/cli/msprobe_rules.hpp"

#include "stats/cli/exit_status.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/report/xlsx_table.hpp"
#include "stats/compare/msprobe/table.hpp"

namespace tensorstat::cli {

int run_msprobe_rules(const std::string& a, const std::string& b, const std::string& path, Console& console) {
  const auto compared = msprobe::compare_by_rules(a, b, [&](std::string_view words) { console.say(words); });
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
  if (!compared->is_whole) return kNotRead;
  return compared->differs() ? kFound : kDone;
}

}  // namespace tensorstat::cli
