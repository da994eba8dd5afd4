// Properties that the type of an operator or module tells.
#include <algorithm>
#include <array>

#include "stats/answer/origin/model.hpp"

namespace tensorstat {
namespace {

std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  return letters;
}

}  // namespace

bool hands_on(std::string_view op_type) {
  constexpr std::string_view kTypes[] = {"Sequential", "DistributedDataParallel", "DataParallel",
                                         "FullyShardedDataParallel", "OptimizedModule"};
  return std::ranges::find(kTypes, op_type) != std::end(kTypes);
}

bool writes_its_input(std::string_view op_type) {
  constexpr std::string_view kBeginnings[] = {"assign",          "inplace", "scatterupdate", "scatteradd", "scattersub",
                                              "scatterndupdate", "apply",   "sparseapply",   "fusedapply", "adam",
                                              "fusedadam",       "lamb",    "momentum"};
  if (op_type.size() > 1 && op_type.ends_with('_') && !op_type.ends_with("__")) return true;  // add_
  if (op_type.starts_with("__i") && op_type.ends_with("__")) return true;                     // __iadd__
  if (op_type == "__setitem__") return true;
  const std::string letters = letters_of(op_type);
  return std::ranges::any_of(kBeginnings, [&](std::string_view word) { return letters.starts_with(word); });
}

bool communicates(std::string_view op_type) {
  constexpr std::array kWords = {"allreduce", "allgather", "reducescatter", "broadcast", "alltoall",
                                 "receive",   "recv",      "barrier",       "scatterv",  "gatherv"};
  const std::string letters = letters_of(op_type);
  // "BroadcastTo" makes a shape larger; no other rank is asked.
  if (letters.starts_with("broadcastto") || letters.starts_with("broadcastgrad")) return false;
  return std::ranges::any_of(kWords, [&](std::string_view word) { return letters.find(word) != letters.npos; });
}

}  // namespace tensorstat
