#include "stats/show/cli/layer_file.hpp"

#include <filesystem>
#include <vector>

namespace tensorstat::cli {

namespace fs = std::filesystem;

Result<std::string> find_layer() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  std::vector<fs::path> places;
  if (!failed) places.push_back((program.parent_path() / TENSORSTAT_LAYER_FROM_PROGRAM).lexically_normal());
  places.emplace_back(TENSORSTAT_LAYER_CONFIGURED);
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place, failed)) return place.string();
  }
  return Error{Code::kUnreadable, "the layer " + places.front().string() + " is not there"};
}

}  // namespace tensorstat::cli
