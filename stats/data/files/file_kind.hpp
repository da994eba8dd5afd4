// What a file is that is not read, so that a message can say it.
#pragma once

#include <string>
#include <string_view>

namespace tensorstat {

struct FileKind {
  std::string_view what;          // "a Parquet file"; empty if it is not known
  std::string_view instead = {};  // what to do; empty if there is nothing but to save it in another format
};

// By the first bytes of a file, at least 16 of them or all, or else by its name.
FileKind kind_of_file(std::string_view head, std::string_view path);

// The same of a file that is there. One that cannot be read is told by its name.
FileKind kind_of_file(const std::string& path);

}  // namespace tensorstat
