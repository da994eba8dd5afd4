// Which operators and tensors the lists of acl.json select.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stats/dump/config/operator_choice.hpp"
#include "stats/dump/session/pending_run.hpp"

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

// An operator is wanted if any item of its model wants it, or if it is flagged. Without items, every operator is
// wanted.
class AclOperators : public OperatorChoice {
 public:
  explicit AclOperators(std::vector<AclItem> items) : items_(std::move(items)) {}

  // Of a graph without a name, every item applies, because its model is not known.
  bool wants(const AskedOperator& op) const override;
  bool adds_flagged() const override { return true; }
  std::vector<std::string> unused() const override;

  // Whether at least one item of this model ("": of any) wants the operator and does not blacklist this tensor.
  bool wants_tensor(const DumpOperator& op, std::string_view model, const PendingTensor& tensor) const;
  bool has_several_models() const;

  const std::vector<AclItem>& items() const { return items_; }

 private:
  const std::vector<AclItem> items_;
};

}  // namespace tensorstat
