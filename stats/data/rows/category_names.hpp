// A list of statistics as a text.
#pragma once

#include <string>
#include <tensorstat/catalog.hpp>

namespace tensorstat {

// The names, separated by commas: categories_from() reads them.
inline std::string names_of(const Categories& categories) {
  std::string names;
  for (const Category category : categories) names.append(names.empty() ? "" : ",").append(name(category));
  return names;
}

}  // namespace tensorstat
