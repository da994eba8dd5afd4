#include "stats/job/dump/msprobe/open_call.hpp"

#include <algorithm>
#include <cctype>

namespace tensorstat {

std::string OpenCall::tensor_name(Io io, std::uint32_t slot) const {
  std::string place = layout.place_of(io == Io::kOutput, slot);
  if (kind == ApiName::Kind::kSaved) {
    // The key ends in "debug", as the place of a value in a list begins: "x.0.debug.1".
    std::string name = key + place.substr(std::min(place.find('.'), place.size()));
    std::ranges::replace(name, '/', '_');
    return name;
  }
  if (kind == ApiName::Kind::kGradients) place.resize(std::min(place.rfind('.'), place.size()));
  constexpr std::size_t kMostBytes = 100;
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c == '-'; };
  if (place.empty() || place.size() > kMostBytes || !std::ranges::all_of(place, is_plain)) {
    place = (io == Io::kInput ? "input." : "output.") + std::to_string(slot);
  }
  return key + "." + place;
}

}  // namespace tensorstat
