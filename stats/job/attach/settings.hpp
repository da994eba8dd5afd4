// The settings for a program: the text of TENSORSTAT_ATTACH, which `tensorstat attach` writes from its options.
//
//   out=DUMP,kernels=gemm.*,launches=10-99,every=2,stats=max,min,types=FILE,poison=1,binaries=refuse
//
// A part without a known word and = belongs to the value before it, so that values may hold commas. Two commas stand
// for one comma of a value in any case, as in a folder named "x,poison=1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/text/regex.hpp"

namespace tensorstat::attach {

inline constexpr const char* kVariable = "TENSORSTAT_ATTACH";

// A line of --types: KERNEL.ARGUMENT = DTYPE. Both are patterns; an argument's number will do, too.
struct TypeRule {
  Regex kernel, argument;
  Dtype dtype = Dtype::kFloat32;
};

struct Settings {
  std::string out;                                           // absolute
  std::optional<Regex> kernels = {};                         // the names of kernels that are measured
  std::uint64_t first_launch = 0, last_launch = UINT64_MAX;  // of the process, from 0
  std::uint64_t every = 1;                                   // of each kernel's launches
  Categories statistics = {};
  std::vector<TypeRule> types = {};
  bool poison = false;
  bool refuse_binaries = false;

  // Errors name the word and its value.
  static Result<Settings> from(std::string_view text);
};

// A value as the text has it.
std::string as_value(std::string_view value);

// The statistics that rows have unless `stats` names others, and those that the layer needs itself.
Categories default_statistics();

// The rules in a text, a line each; # begins a comment.
Result<std::vector<TypeRule>> type_rules_from(std::string_view text);

}  // namespace tensorstat::attach
