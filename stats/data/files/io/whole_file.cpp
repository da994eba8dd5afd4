#include "stats/data/files/io/whole_file.hpp"

#include <new>
#include <span>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

Result<std::string> read_whole_file(const std::string& path, std::size_t most_bytes) try {
  const auto file = RandomFile::open(path);
  if (!file) return file.error();
  if (file->size_bytes() > most_bytes) {
    return Error{Code::kUnreadable, printable(path) + ": has " + std::to_string(file->size_bytes()) +
                                        " bytes, and at most " + std::to_string(most_bytes) + " are read"};
  }
  std::string text(file->size_bytes(), '\0');
  if (Status read = file->read_at(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
