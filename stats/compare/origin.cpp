#include "stats/compare/origin.hpp"

#include "stats/compare/course.hpp"

namespace tensorstat {

namespace {

// What a search takes for a fault in a row.
class Search {
 public:
  Search(const Record& record, bool nan_only) : record_(record), nan_only_(nan_only) {}

  std::vector<Role> roles() const {
    return roles_of(record_, [&](const Seen& row) -> Marked {
      const StatisticsView statistics = record_.statistics(row);
      return {fault_of(row).any(), content_of(statistics), proves_content(statistics)};
    });
  }

  // The first input or output of a run that has it.
  void add_first(std::uint32_t run, bool of_inputs, std::vector<Source>& to) const {
    for (const Seen& row : record_.run(run)) {
      const Specials found = fault_of(row);
      if (row.is_input != of_inputs || !found.any()) continue;
      to.push_back({run, static_cast<std::uint32_t>(&row - record_.rows().data()), found});
      return;
    }
  }

 private:
  Specials fault_of(const Seen& row) const {
    Specials found = specials_of(record_.statistics(row));
    if (nan_only_) found.inf = 0;
    return found;
  }

  const Record& record_;
  const bool nan_only_;
};

}  // namespace

Origin origin_of(const Record& record, bool nan_only) {
  const Search any(record, nan_only), nan(record, true);
  const auto roles = any.roles();
  const auto nan_roles = nan_only ? roles : nan.roles();
  Origin origin;
  for (std::uint32_t run = 0; run < record.run_count(); ++run) {
    const Role role = roles[run];
    if (role == Role::kClean || role == Role::kEnds) continue;
    // An operator that got it from outside and passes it on is both.
    if (role == Role::kEnters) any.add_first(run, true, origin.entered);
    any.add_first(run, false, role == Role::kBegins ? origin.producers : origin.propagators);
    if (role != Role::kBegins && nan_roles[run] == Role::kBegins) nan.add_first(run, false, origin.turned);
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
