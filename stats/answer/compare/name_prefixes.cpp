#include "stats/answer/compare/name_prefixes.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stats/data/rows/names/direction.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostNames = 3;      // of A, that are held against each name of B
constexpr std::size_t kMostPrefixes = 16;  // that are tried, the shortest first

struct Prefixes {
  std::string_view a, b;
  auto operator<=>(const Prefixes&) const = default;
};

bool begins_part(std::string_view name, std::size_t offset) {
  return offset == 0 || name[offset - 1] == '.' || name[offset - 1] == '/' || name[offset - 1] == ':';
}

// The prefixes before the common end of two names; whole names, if their ends differ.
Prefixes prefixes_of(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  auto at_a = static_cast<std::size_t>(a.rend() - in_a), at_b = static_cast<std::size_t>(b.rend() - in_b);
  while (at_a < a.size() && !(begins_part(a, at_a) && begins_part(b, at_b))) ++at_a, ++at_b;
  return {a.substr(0, at_a), b.substr(0, at_b)};
}

std::size_t pairs_of(const Prefixes& prefixes, std::span<const std::string_view> a,
                     const std::unordered_set<std::string_view>& b) {
  return static_cast<std::size_t>(std::ranges::count_if(a, [&](std::string_view name) {
    if (!name.starts_with(prefixes.a)) return false;
    return b.contains(std::string(prefixes.b).append(name.substr(prefixes.a.size())));
  }));
}

}  // namespace

std::string prefix_line(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  if (a.empty() || b.empty()) return "";
  std::vector<Prefixes> all;
  for (std::size_t i = 0; i < kMostNames; ++i) {
    const std::string_view name = a[i * (a.size() - 1) / (kMostNames - 1)];
    for (const std::string_view other : b) {
      const Prefixes prefixes = prefixes_of(name, other);
      if (prefixes.a.size() < name.size()) all.push_back(prefixes);
    }
  }
  std::ranges::sort(all, [](const Prefixes& x, const Prefixes& y) {
    return std::pair(x.a.size() + x.b.size(), x) < std::pair(y.a.size() + y.b.size(), y);
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > kMostPrefixes) all.resize(kMostPrefixes);
  const std::unordered_set<std::string_view> in_b(b.begin(), b.end());
  Prefixes best;
  std::size_t most = 0;
  for (const Prefixes& each : all) {
    const std::size_t count = pairs_of(each, a, in_b);
    if (count > most) most = count, best = each;
  }
  const std::size_t least = !best.a.empty() && !best.b.empty() ? 2 : 1;
  if (most < least || 2 * most < std::min(a.size(), b.size())) return "";
  return std::string(best.a) + "*," + std::string(best.b) + "*";
}

Outermost outermost_of(const Record& record) {
  Outermost outermost;
  std::vector<bool> is_known(record.texts().size());
  for (const RecordRow& row : record.rows()) {
    if (is_known[row.name]) continue;
    is_known[row.name] = true;
    const DirectedName name = directed_name_of(record.texts()[row.name]);
    if (name.writer != DirectedName::Writer::kWatch) continue;
    if (name.stem == record.texts()[row.op_type]) outermost.classes.emplace(name.stem);
    outermost.has_module |= name.stem == "module";
  }
  return outermost;
}

std::string wrapper_lines(const Outermost& a, const Outermost& b) {
  if (a.is_wrapper() == b.is_wrapper()) return "";
  const Outermost& bare = a.is_wrapper() ? b : a;
  if (bare.classes.size() != 1) return "";
  const std::string &model = *bare.classes.begin(), &wrapper = *(a.is_wrapper() ? a : b).classes.begin();
  std::string lines = "loss,loss\nloss/*,loss/*\n";
  for (const std::string_view direction : {kForwardEnding, kBackwardEnding, kEvalEnding}) {
    const std::string ending(direction), inner = "module" + ending;
    if (a.is_wrapper()) lines += inner + "," + inner + "\n";  // has no partner
    lines += (a.is_wrapper() ? wrapper + ending + "," + model : model + ending + "," + wrapper) + ending + "\n";
  }
  return lines + (a.is_wrapper() ? "module/*," + model + "/*\nmodule.*,*" : model + "/*,module/*\n*,module.*");
}

}  // namespace tensorstat
