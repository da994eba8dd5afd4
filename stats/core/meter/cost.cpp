// The cost of a statistic, as a text for people.
#include <algorithm>
#include <string_view>
#include <tensorstat/catalog.inc>

#include "stats/core/engine/needs.hpp"

namespace tensorstat {
namespace {

struct Cost {
  Needs need;
  std::string_view text;
};
constexpr Cost kCosts[] = {
    {kExtrema, "the greatest and the least element"},
    {kSigns, "two more counts"},
    {kSum, "an exact sum of the elements"},
    {kSquares, "an exact sum of the squares"},
    {kAbsolute, "an exact sum of the absolute values"},
    {kOfElements & ~kFinite, "another look at each element while it is in the nearest cache"},
    {kFinite, "the greatest and the least finite element"},
    {kIndices, "a comparison after each block, and a search in the blocks with a new extreme"},
    {kCrc32, "CRC-32 of the bytes while they are in the cache, 16 at a time if the processor multiplies without carry"},
    {kXor64, "the exclusive or of the bytes, 8 at a time"},
    {kExponents, "a look at each element's exponent, 16 exponents at a time"},
    {kQuantiles,
     "a count of the elements in each of up to 2^16 bins, of float64 2^19, on the host: 1 MiB of memory a thread, of "
     "float64 8; a partial keeps up to 16 bytes an element"},
    {kMd5Digest, "MD5, which is serial: host work, some 0.8 GB/s for one large tensor; small ones go side by side"},
    {kSha1Digest, "SHA-1: host work, slices of 20,480 elements side by side"},
};
// Fails to compile if an accumulator has no text in kCosts.
constexpr bool every_need_has_words() {
  Needs known = 0;
  for (const Cost& cost : kCosts) known |= cost.need;
#define ROW(id, name, column, kind, in_all, of_complex, needs, ...) &&((needs) & ~known) == 0
  return true TENSORSTAT_CATEGORIES(ROW) TENSORSTAT_QUANTILE(ROW);
#undef ROW
}
static_assert(every_need_has_words());

}  // namespace

std::string cost(Category category) {
  const Needs wanted = needs(category);
  if (wanted == kNothing) return "nothing: every pass counts elements, NaN and Inf";
  std::string kept, free;
  for (const Cost& each : kCosts) {
    if ((wanted & each.need) != 0) kept.append(kept.empty() ? "" : ", and ").append(each.text);
  }
  if (is_digest(category)) return kept;
  for (const Category other : every_category()) {
    if (other == category || needs(other) == kNothing || (needs(other) & ~wanted) != 0) continue;
    free.append(free.empty() ? "" : ", ").append(name(other));
  }
  return "in the one pass: " + kept + (free.empty() ? "" : "; then free: " + free);
}

bool depends_on_precision(Category category) { return (needs(category) & (kSum | kSquares | kAbsolute)) != 0; }
bool is_digest(Category category) { return (needs(category) & kDigests) != 0; }
bool is_of_bytes(Category category) { return (needs(category) & (kDigests | kFingerprints)) != 0; }
bool counts_casts(Category category) { return (needs(category) & kCasts) != 0; }

}  // namespace tensorstat
