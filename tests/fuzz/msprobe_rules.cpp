#include <algorithm>

#include "stats/answer/msprobe/table.hpp"
#include "tests/fuzz/written_files.hpp"

namespace tensorstat::fuzz {

void msprobe_rules(Input bytes) {
  static WrittenFiles npu, bench;
  const Input of_npu = take_part(bytes), of_bench = take_part(bytes);
  const std::string npu_path = npu.write("dump.json", of_npu);
  npu.write("stack.json", bytes.empty() ? "{}" : bytes);
  npu.write("construct.json", bytes.empty() ? "{}" : bytes);
  const std::string bench_path = bench.write("dump.json", of_bench.empty() ? of_npu : of_bench);
  bench.write("stack.json", bytes.empty() ? "{}" : bytes);
  bench.write("construct.json", "{}");
  // One way to pair an input: each of them costs as much as all else.
  constexpr msprobe::MappingKind kKinds[] = {msprobe::MappingKind::kNone, msprobe::MappingKind::kLayer,
                                             msprobe::MappingKind::kApi, msprobe::MappingKind::kCell};
  msprobe::Naming naming;
  naming.mapping.kind = kKinds[of_npu.size() / 2 % std::size(kKinds)];
  naming.is_fuzzy = of_npu.size() % 2 == 1;
  const auto comparison = msprobe::compare_by_rules(
      npu_path, bench_path, [](std::string_view words) { demand_message(words, 5000); }, naming);
  if (!comparison) return demand_message(comparison.error().message, 2000);
  const std::size_t columns = msprobe::headings_of(*comparison).size();
  for (const auto& row : comparison->rows) {
    demand(row.npu != nullptr, "a row is of the first dump");
    demand(msprobe::cells_of(*comparison, row).size() == columns, "a cell a heading");
  }
  std::string csv;
  const Status written =
      msprobe::write_csv(*comparison, [&](std::string_view piece) { return csv.append(piece), Status(); });
  demand(static_cast<bool>(written) && csv.ends_with('\n'), "the table is written to its end");
}

}  // namespace tensorstat::fuzz
