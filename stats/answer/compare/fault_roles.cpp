#include "stats/answer/compare/fault_roles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "stats/answer/origin/model.hpp"

namespace tensorstat {
namespace {

class Follower {
 public:
  Follower(const Record& record, const std::function<Marked(const RecordRow&)>& mark) : record_(record) {
    marks_.reserve(record.rows().size());
    for (const RecordRow& row : record.rows()) marks_.push_back(mark(row));
    meet();
  }

  std::vector<Role> roles() {
    std::vector<Role> roles;
    roles.reserve(record_.run_count());
    for (std::uint32_t run = 0; run < record_.run_count(); ++run) roles.push_back(role_of(run));
    return roles;
  }

 private:
  // The ranks of one run of an operator of communication.
  using Meeting = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;  // name, iteration, how many before

  const Marked& mark(const RecordRow& row) const {
    return marks_[static_cast<std::size_t>(&row - record_.rows().data())];
  }

  void meet() {
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::uint32_t> before;  // by rank
    std::unordered_map<std::uint32_t, bool> known;
    for (std::uint32_t run = 0; run < record_.run_count(); ++run) {
      const RecordRow& first = record_.run(run).front();
      const auto [type, is_new] = known.try_emplace(first.op_type);
      if (is_new) type->second = communicates(record_.texts()[first.op_type]);
      if (!type->second) continue;
      const Meeting meeting{first.name, first.iteration, before[{first.name, first.iteration, first.rank}]++};
      bool& any = meetings_[meeting];
      for (const RecordRow& row : record_.run(run)) any |= row.is_input && mark(row).has_fault;
      meeting_of_.emplace(run, meeting);
    }
  }

  Role role_of(std::uint32_t run) {
    const auto rows = record_.run(run);
    bool& is_second = had_fault_[rows.front().rank];
    const auto is_overwritten = [&](const RecordRow& input) {
      if (is_second || !mark(input).is_proof || !writes_its_input(record_.texts()[rows.front().op_type])) return false;
      return std::ranges::any_of(rows, [&](const RecordRow& row) {
        return !row.is_input && row.shape == input.shape && row.dtype == input.dtype &&
               mark(row).content == mark(input).content;
      });
    };
    const RecordRow* input = nullptr;
    bool has_output = false, has_inputs = false;
    for (const RecordRow& row : rows) {
      has_inputs |= row.is_input;
      if (!mark(row).has_fault) continue;
      if (!row.is_input) {
        has_output = true;
      } else if (input == nullptr && !is_overwritten(row)) {
        input = &row;
      }
    }
    const auto meeting = meeting_of_.find(run);
    const bool is_sent = meeting != meeting_of_.end() && meetings_.at(meeting->second);
    Role role = Role::kClean;
    if (input != nullptr && !is_second && !is_sent) {
      role = Role::kEnters;
    } else if (input != nullptr || is_sent) {
      role = has_output ? Role::kPasses : input != nullptr ? Role::kEnds : Role::kClean;
    } else if (has_output) {
      role = has_inputs || !is_second ? Role::kBegins : Role::kPasses;
    }
    is_second |= role != Role::kClean;
    return role;
  }

  const Record& record_;
  std::vector<Marked> marks_;
  std::map<Meeting, bool> meetings_;  // whether a rank comes with the fault
  std::unordered_map<std::uint32_t, Meeting> meeting_of_;
  std::unordered_map<std::uint32_t, bool> had_fault_;  // a rank
};

}  // namespace

std::uint64_t content_of(const StatisticsView& statistics, std::uint64_t so_far) {
  const auto word = [](const Value& value) -> std::uint64_t {
    if (const auto* real = std::get_if<double>(&value))
      return std::isnan(*real) ? 1 : std::bit_cast<std::uint64_t>(*real);
    if (const auto* whole = std::get_if<std::uint64_t>(&value)) return *whole;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<std::uint64_t>(*whole);
    const auto* digest = std::get_if<Digest>(&value);
    return digest ? std::hash<std::string>()(to_string(*digest)) : 2;
  };
  for (const Value& value : statistics.values) so_far = mixed(so_far, word(value));
  return so_far;
}

bool proves_content(const StatisticsView& statistics) {
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const Value& value = statistics.values[i];
    const auto* real = std::get_if<double>(&value);
    if (std::holds_alternative<Digest>(value) || (real != nullptr && std::isfinite(*real))) return true;
  }
  return false;
}

std::vector<Role> roles_of(const Record& record, const std::function<Marked(const RecordRow&)>& mark) {
  return Follower(record, mark).roles();
}

}  // namespace tensorstat
