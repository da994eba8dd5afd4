// Recognises files of formats that are not supported, so that a message can name the format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

class RandomFile;

struct FileKind {
  std::string_view what;          // "a Parquet file"; empty if it is not known
  std::string_view instead = {};  // what to do; empty if there is nothing but to save it in another format
  bool holds_tensors = false;     // of a folder, such a file is missed
  bool is_pickle = false;
};

// So many bytes at the beginning of a file are enough to recognise it.
inline constexpr std::size_t kKindBytes = 512;

// The first kKindBytes bytes of a file, or all.
Result<std::string> head_of(const RandomFile& file);

// The kind of a file without tensors, by its first kKindBytes bytes: a pointer of Git LFS, a page, JSON, a text.
FileKind kind_of_text(std::string_view head);

// By the first bytes of a file, or else by its name. A tar archive needs 262 of them, others 16 or all.
FileKind kind_of_file(std::string_view head, std::string_view path);

// The same of a file that is there. One that cannot be read is told by its name.
FileKind kind_of_file(const std::string& path);

// Whether a file begins like a supported format. Zip archives: torch.save and .npz only.
bool begins_as_tensors(const std::string& path);

}  // namespace tensorstat
