// The tensors of a file that a user named, with * and ? in the names.
#pragma once

#include <fnmatch.h>

#include <optional>
#include <string>
#include <vector>

namespace tensorstat {

class WantedTensors {
 public:
  // `names` outlives this. Empty: all tensors.
  explicit WantedTensors(const std::vector<std::string>& names) : names_(names), is_there_(names.size()) {}

  // Whether a tensor of this name is wanted.
  bool take(const std::optional<std::string>& name) {
    bool is_wanted = names_.empty();
    for (std::size_t i = 0; name && i < names_.size(); ++i) {
      if (*name != names_[i] && ::fnmatch(names_[i].c_str(), name->c_str(), 0) != 0) continue;
      is_there_[i] = is_wanted = true;
    }
    return is_wanted;
  }

  // The names that no tensor had.
  std::vector<std::string> missing() const {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!is_there_[i]) missing.push_back(names_[i]);
    }
    return missing;
  }

 private:
  const std::vector<std::string>& names_;
  std::vector<bool> is_there_;
};

}  // namespace tensorstat
