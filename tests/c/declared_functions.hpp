// The functions that a C header declares with TENSORSTAT_API.
#pragma once

#include <set>
#include <string>

inline std::set<std::string> functions_of(const std::string& header) {
  std::set<std::string> declared;
  for (std::size_t mark = header.find("TENSORSTAT_API "); mark != header.npos;
       mark = header.find("TENSORSTAT_API ", mark + 1)) {
    const std::size_t end = header.find('(', mark), begin = header.rfind("tensorstat_", end);
    if (end == header.npos || header.rfind('\n', end) > begin) continue;  // skips the macro's own definition
    declared.insert(header.substr(begin, end - begin));
  }
  return declared;
}
