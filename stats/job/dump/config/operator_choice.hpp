// Which operators a config wants, by their types and names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat {

// The type of the operators that DumpSession::save() makes.
inline constexpr std::string_view kSavedType = "debug";

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

  // Whether a rule of the config begins or ends with runs of this operator. The output sees each of them, also if
  // wants() is false: such a rule must know of runs that other rules drop.
  virtual bool bounds(const AskedOperator& op) const {
    static_cast<void>(op);
    return false;
  }

  // Whether bounds() may say yes.
  virtual bool has_bounds() const { return false; }

  // Whether all tensors of the operator are wanted, though the config wants inputs or outputs alone.
  virtual bool has_every_io(const AskedOperator& op) const {
    static_cast<void>(op);
    return false;
  }

  // Whether all that runs inside of the call `parent` is wanted. `op` runs in it, directly or further inside.
  virtual bool wants_inside(const AskedOperator& op, std::string_view parent) const {
    static_cast<void>(op), static_cast<void>(parent);
    return false;
  }
  // Whether wants_inside() may say yes.
  virtual bool looks_inside() const { return false; }

  // Whether flagged operators are wanted beside those that the config lists.
  virtual bool adds_flagged() const { return false; }

  // The deciding condition of the config, worded to follow "none of the operators is selected by".
  virtual std::string condition() const { return "the config"; }

  // The config's entries that matched no operator so far, worded to follow "no operator matched".
  virtual std::vector<std::string> unused() const { return {}; }
};

}  // namespace tensorstat
