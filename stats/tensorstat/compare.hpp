// SPDX-License-Identifier: Apache-2.0
// The subcommands `tensorstat diff` (where two runs differ) and `tensorstat origin` (where NaN and Inf began) as
// functions.
//
//   const auto answer = diff("npu/rank_0", "gpu/rank_0", {.first = true});
//   if (answer && answer->differs) puts(answer->json.c_str());
//
// A path is a file of rows (statistic.csv in any dialect), a file of tensors, or a folder. A folder stands for all
// files of rows below it. If it has none, it stands for all files of tensors below it, which are measured. Nothing here
// throws.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

struct DiffOptions {
  // Two values a and b are within tolerance if |a - b| <= atol + rtol * max(|a|, |b|). The default of rtol depends on
  // the dtype: 1e-5 for float32, float64 and complex, 2^-10 for float16, 2^-8 for bfloat16, 2^-3 for float8 e4m3, 2^-2
  // for float8 e5m2, 0 for all others. atol and any_dtype require rtol.
  std::optional<double> rtol = {};
  double atol = 0;
  bool any_dtype = false;       // compare tensors of different dtypes by value; else they are different
  std::string tolerances = {};  // lines NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any; the first match counts
  std::string names = {};       // lines NAME_IN_A,NAME_IN_B; old/*,new/* maps a prefix
  bool first = false;           // also find the operators in which a difference begins
  MeterOptions meter = {};      // for tensors
};

struct DiffAnswer {
  bool differs = false;  // a pair is "different", or a tensor has no partner
  // {schema_version, compared, different, unmatched_a: [...], unmatched_b: [...], pairs: [{a, b, verdict, why, op_type,
  // op_name, rank, iteration, io, slot, stats: {name: {a, b}}, elements: {...}}]}, and with DiffOptions::first
  // first: [{op_type, op_name, rank, iteration, io, slot, added, enters, phase, inside: [...], file, line}]: phase,
  // inside, file and line as in OriginAnswer. A verdict is "equal", "within" or "different"; a pair that cannot be
  // judged is "different". NaN and Inf are strings.
  // Rows below msprobe's graph/ or pynative/ have "execution", which is that word, behind slot. If no name was in both,
  // and names without a prefix pair, "paired_by" is the line of names that says it: "*,module.*".
  std::string json;
  std::vector<std::string> faults;  // one message for each file that could not be read; the rest is compared
};

// Pairs tensors by name, rank, iteration, io and slot, and by execution if a side has both. kInvalid: the options are
// invalid; kUnreadable: `a` or `b` holds nothing to compare.
Result<DiffAnswer> diff(const std::string& a, const std::string& b, const DiffOptions& options);

struct OriginOptions {
  bool nan_only = false;    // report NaN only
  bool inf = false;         // also report Inf that vanishes again, such as a mask's Inf in a softmax
  MeterOptions meter = {};  // for tensors
};

struct OriginAnswer {
  bool is_clean = true;  // no fault found: verdict.kind is "none"
  // {schema_version, verdict: {kind, certainty, op_type, op_name, phase, rank, iteration, io, slot,
  // last_clean_iteration, file, line, operation, inside: [...], not_watched: [...], sentence, details: [...]},
  // notes: [...], and the lists below}.
  //
  // kind     "none": no fault. "entered": it came with the input data. "produced": a call of the forward or backward
  //          pass made it. "loss": the code after the model, or its backward pass, made it. "parameter": a parameter
  //          held it before anything ran. "gradient": it appeared between the backward pass and the step. "optimizer":
  //          the optimizer made it. "unknown": the rows cannot tell; `sentence` says what is missing
  // phase    "parameter", "input", "forward", "loss", "backward", "gradient", "optimizer"
  // inside   the calls that contain it, innermost first
  // sentence the verdict in words
  // details  the inputs that it was made of, and why it is NaN or Inf
  // notes    NaN and Inf that are no fault: those that vanished again, and steps that a gradient scaler skipped
  // not_watched  what a watch was told to leave out: "parameters", "gradients", "loss"; "model": no step has rows of it
  // Unknown members are null.
  //
  // The lists classify every call with NaN or Inf by the verdict's rules. The verdict is the first of its list:
  // {producers: [{op_type, op_name, rank, iteration, io, slot, nan, inf, before: [...], inputs: [...]}],
  // entered: [...], unknown: [...], turned: [...], propagators: [...]}
  // producers    calls that made NaN or Inf
  // entered      data or a parameter that held it
  // unknown      calls where it is seen first, if the rows cannot tell who made it
  // turned       calls that were given Inf and made NaN of it; these are propagators, too
  // propagators  calls that passed it on
  // nan and inf are counts; null if the fault is known and its count is not. `turned` counts nan only.
  std::string json;
  std::vector<std::string> faults;  // as in DiffAnswer
};

Result<OriginAnswer> origin(const std::string& path, const OriginOptions& options);

}  // namespace tensorstat
