// Which operators and tensors the lists of acl.json select.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stats/job/dump/config/operator_choice.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

// An entry of optype_blacklist or opname_blacklist.
struct AclBlack {
  std::string name;
  std::vector<std::string> positions;  // "input0", "output_1"; none: the whole operator
};

// One item of dump_list.
struct AclItem {
  std::string model;                          // with / \ . and space replaced by _; "": every model
  std::set<std::string, std::less<>> layers;  // names, with / \ . and space replaced by _; none: every operator
  std::vector<AclBlack> black_types, black_names;
  std::vector<std::pair<std::string, std::string>> ranges;  // from name to name, both included

  bool is_of(std::string_view named) const { return named.empty() || model.empty() || model == named; }
};

// The open ranges: by rank, graph and number of the range among the ranges of all items.
using AclRanges = std::map<std::tuple<std::uint32_t, std::uint32_t, std::size_t>, bool>;

// An operator is wanted if any item of its model wants it, or if it is flagged. Without items, every operator is
// wanted.
class AclOperators : public OperatorChoice {
 public:
  explicit AclOperators(std::vector<AclItem> items) : items_(std::move(items)) {}

  // In a graph without a name, every item applies, because its model is not known.
  bool wants(const AskedOperator& op) const override;
  bool bounds(const AskedOperator& op) const override;
  bool has_bounds() const override;
  bool adds_flagged() const override { return true; }
  std::string condition() const override { return "dump.dump_list"; }
  std::vector<std::string> unused() const override;

  // The items of this model ("": of any) that have the operator in their ranges, or have no ranges. Must see each run
  // of a bound operator, in order. A range follows the order of hand-over: in each graph of a rank it goes from the
  // first run of `begin` to the next run of `end`.
  std::vector<const AclItem*> items_around(const PendingRun& run, std::string_view model, AclRanges& ranges) const;
  // Whether one of these items wants the operator and does not blacklist this tensor.
  bool wants_tensor(const DumpOperator& op, std::span<const AclItem* const> items, const PendingTensor& tensor) const;
  bool has_several_models() const;

  const std::vector<AclItem>& items() const { return items_; }

 private:
  const std::vector<AclItem> items_;
};

}  // namespace tensorstat
