#include "stats/compare/origin.hpp"

#include "stats/compare/course.hpp"

namespace tensorstat {

Origin origin_of(const Record& record, bool nan_only) {
  const auto specials = [&](const Seen& row) {
    Specials found = specials_of(record.statistics(row));
    if (nan_only) found.inf = 0;
    return found;
  };
  const auto roles = roles_of(record, [&](const Seen& row) -> Marked {
    return {specials(row).any(), content_of(record.statistics(row))};
  });
  Origin origin;
  for (std::uint32_t run = 0; run < record.run_count(); ++run) {
    const Role role = roles[run];
    if (role == Role::kClean || role == Role::kEnds) continue;
    // An operator that got it from outside and passes it on is both.
    const auto add = [&](std::vector<Source>& to, bool of_inputs) {
      for (const Seen& row : record.run(run)) {
        const Specials found = specials(row);
        if (row.is_input != of_inputs || !found.any()) continue;
        to.push_back({run, static_cast<std::uint32_t>(&row - record.rows().data()), found});
        return;
      }
    };
    if (role == Role::kEnters) add(origin.entered, true);
    add(role == Role::kBegins ? origin.producers : origin.propagators, false);
  }
  return origin;
}


std::vector<std::uint32_t> runs_before(const Record& record, std::uint32_t run) {
  constexpr std::size_t kMostBefore = 20;
  std::vector<std::uint32_t> runs;
  const std::uint32_t rank = record.run(run).front().rank;
  for (std::uint32_t at = run; at-- > 0 && runs.size() < kMostBefore;) {
    if (record.run(at).front().rank == rank) runs.push_back(at);
  }
  return {runs.rbegin(), runs.rend()};
}

}  // namespace tensorstat
