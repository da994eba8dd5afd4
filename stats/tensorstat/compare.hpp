// SPDX-License-Identifier: Apache-2.0
// Where two runs part, and where NaN and Inf began in one: `tensorstat diff` and `tensorstat origin` as functions.
//
//   const auto answer = diff("npu/rank_0", "gpu/rank_0", {.first = true});
//   if (answer && answer->differs) puts(answer->json.c_str());
//
// A path is a file of rows (statistic.csv in any dialect), a file of tensors, or a folder: of that, all files of rows
// below it, and where there are none, all files of tensors, which are measured. Nothing here throws.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

struct DiffOptions {
  // Two values a and b are within the tolerance where |a - b| <= atol + rtol * max(|a|, |b|). Without rtol: 1e-5, 2^-10
  // of float16, 2^-8 of bfloat16, 2^-3 and 2^-2 of float8, 0 of integers. atol and any_dtype want rtol.
  std::optional<double> rtol = {};
  double atol = 0;
  bool any_dtype = false;       // tensors of different dtypes are compared by their values; else they differ
  std::string tolerances = {};  // lines of NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any; the first that matches counts
  std::string names = {};       // lines of NAME_IN_A,NAME_IN_B; old/*,new/* for beginnings of names
  bool first = false;           // find the operators where a difference begins, too
  MeterOptions meter = {};      // for tensors
};

struct DiffAnswer {
  bool differs = false;  // a pair is different, or a tensor has no partner
  // {schema_version, compared, different, unmatched_a: [...], unmatched_b: [...], pairs: [{a, b, verdict, why, op_type,
  // op_name, rank, iteration, io, slot, stats: {name: {a, b}}, elements: {...}}]}, and with DiffOptions::first
  // first: [{op_type, op_name, rank, iteration, io, slot, added, enters, phase, inside: [...], file, line}]: phase,
  // inside, file and line as in OriginAnswer. A verdict is "equal", "within" or "different"; what cannot be judged is
  // different. NaN and Inf are strings. Rows that lie below msprobe's graph/ or pynative/ have "execution", which is
  // that word, behind slot.
  std::string json;
  std::vector<std::string> faults;  // what could not be read; the rest is compared
};

// Pairs by name, rank, iteration, io and slot, and by execution where a side has both. kInvalid: the options make no
// sense; kUnreadable: one of the two gives nothing to compare.
Result<DiffAnswer> diff(const std::string& a, const std::string& b, const DiffOptions& options);

struct OriginOptions {
  bool nan_only = false;    // Inf is no fault
  bool inf = false;         // an Inf that ended, as that of a mask does in a softmax, is one, too
  MeterOptions meter = {};  // for tensors
};

struct OriginAnswer {
  bool is_clean = true;  // nothing is wrong: `verdict` is of kind "none"
  // {schema_version, verdict: {kind, op_type, op_name, phase, rank, iteration, io, slot, last_clean_iteration, file,
  // line, operation, inside: [...], not_watched: [...], sentence, details: [...]}, notes: [...], and the lists below}.
  // kind   "none"; "entered", with the data; "produced", by a call of the forward or the backward; "loss", by what follows
  //        the model, or by its backward; "parameter", there before anything ran; "gradient", changed between backward
  //        and the step; "optimizer"; "unknown", the rows cannot tell, and `sentence` says what is missing
  // phase  "parameter", "input", "forward", "loss", "backward", "gradient", "optimizer"
  // inside the calls that contain it, the innermost first. sentence says all that in words, `details` from what and why.
  // notes  what was wrong and is no fault: NaN and Inf that ended, and steps that a gradient scaler skipped
  // not_watched  what a watch was told to leave out: "parameters", "gradients", "loss"
  // What is not known is null. The lists say of every call with NaN or Inf what it did, by the rules of the verdict. The
  // verdict is the first of its list:
  // {producers: [{op_type, op_name, rank, iteration, io, slot, nan, inf, before: [...], inputs: [...]}],
  // entered: [...], unknown: [...], turned: [...], propagators: [...]}: what made NaN or Inf; data or a parameter that held
  // it; where it is seen first and the rows cannot tell who made it; calls that were given Inf and made NaN of it (they are
  // propagators, too); calls that passed it on. nan and inf are counts, null where it is there and was not counted.
  // `turned` has nan alone counted.
  std::string json;
  std::vector<std::string> faults;  // as in DiffAnswer
};

Result<OriginAnswer> origin(const std::string& path, const OriginOptions& options);

}  // namespace tensorstat
