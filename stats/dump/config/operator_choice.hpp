// Which operators a config wants, by their types and names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat {

// An operator as the caller of DumpSession::operator_named names it.
struct AskedOperator {
  std::string_view type, name;
  bool set_dump = false;    // the user flagged it
  bool is_escaped = false;  // `name` is as in file names: / \ . and space are _
};

// Each dialect of configs implements its own. Thread-safe.
class OperatorChoice {
 public:
  virtual ~OperatorChoice() = default;

  // Slow, because it matches texts: called once per operator.
  virtual bool wants(const AskedOperator& op) const = 0;

  // The config's entries that matched no operator so far, worded to follow "no operator matched".
  virtual std::vector<std::string> unused() const { return {}; }
};

}  // namespace tensorstat
