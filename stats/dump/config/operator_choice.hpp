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
  bool is_escaped = false;  // the name is as it is in files, where / \ . and space are _
};

// Each dialect of configs has its own. Thread-safe.
class OperatorChoice {
 public:
  virtual ~OperatorChoice() = default;

  // Matches texts: asked once for each operator.
  virtual bool wants(const AskedOperator& op) const = 0;

  // What of the config matched no operator so far, in words for "no operator matched ...".
  virtual std::vector<std::string> unused() const { return {}; }
};

}  // namespace tensorstat
