// Opens a file of any format and iterates over its tensors.
//
//   auto source = open_tensors("model.safetensors", {});
//   while (auto tensor = (*source)->next()) {
//     if (!*tensor) { say((*tensor).error()); continue; }  // the others can still be read
//     while (auto got = (*tensor)->read(buffer)) { if (*got == 0) break; ... }
//   }
//
// To add a format: a file <format>_file.cpp in a folder here that defines a TensorFormat, and its row in formats.inc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // How many tensors next() will still give; nullopt if that is known only at the end.
  virtual std::optional<std::uint64_t> count() const = 0;

  // The next tensor, or the error of reading it, which names file and tensor; nullopt after the last.
  virtual std::optional<Result<TensorReader>> next() = 0;
};

using OpenedSource = Result<std::unique_ptr<TensorSource>>;

// The tensor in a file without a header.
struct RawTensor {
  Dtype dtype;
  std::optional<Shape> shape = {};  // nullopt: one dimension, as long as the file
};

struct ReadOptions {
  Original original = Original::kAsStored;            // applies to a file that holds one tensor
  std::size_t window_bytes = std::size_t{256} << 20;  // see TensorReader
  bool takes_stream = false;                          // "-" is the standard input, and pipes are allowed
  bool keeps_device_format = false;   // Ascend's dump files: a tensor in a device's format stays as it is stored
  bool head_only = false;             // elements are not read: tensors that are cut off are given, too
  std::optional<RawTensor> raw = {};  // if set: read the file as this tensor, whatever it begins with
};

inline constexpr std::size_t kBeginsBytes = 16;

struct TensorFormat {
  std::string_view extension;  // ".npy"; empty if is_named is used
  // Whether a file that begins with `head` (kBeginsBytes, or the whole file) has this format.
  bool (*begins)(std::string_view head);
  // Opens the file and checks its header. Errors name the file.
  OpenedSource (*open)(std::shared_ptr<const RandomFile> file, const ReadOptions& options);
  std::string_view label = extension;  // for messages
  // Whether a search through folders takes a file with this name, given without folders.
  bool (*is_named)(std::string_view name) = nullptr;
  // The files and folders that belong to this file, such as shards. A search through folders does not take them
  // separately.
  std::vector<std::string> (*parts)(const std::string& path) = nullptr;

  bool fits(std::string_view path) const;  // extension or is_named
};

// Every format, in the order of formats.inc.
std::span<const TensorFormat* const> tensor_formats();

// Opens a regular file. Its first bytes tell the format, or else its extension. With options.takes_stream, also a
// stream (stream_source.hpp).
OpenedSource open_tensors(std::string path, const ReadOptions& options);

// Opens the tensor of a file that holds exactly one; else an error.
Result<TensorReader> open_tensor(std::string path, const ReadOptions& options);

// The error for a file that is fine and has no tensors; Code::kNoNumbers.
Error holds_no_tensor(const std::string& path);

// The error for a pickle that torch.save did not write: why it is not read, and what to do instead.
Error pickle_refused(const std::string& path);

// Whether a search through folders takes a file with this name.
bool is_named_as_tensors(std::string_view path);

// The files that belong to this one; see TensorFormat::parts.
std::vector<std::string> parts_of(const std::string& path);

// A tensor, and where its bytes come from: null for the file itself.
struct SourcedTensor {
  StoredTensor stored;
  std::unique_ptr<ByteSource> bytes = nullptr;
  std::uint64_t unpacked_bytes = 0;  // that have to be unpacked to read it, if these are more than its own
};

// For formats that know all tensors after opening: a source that gives them in this order. A tensor beyond what the
// file may be read as (unfolding.hpp) is an error. Of two tensors with one name, the second is "name#2".
// `bytes_beside`: of other files that hold elements of it.
std::unique_ptr<TensorSource> source_of(std::shared_ptr<const RandomFile> file,
                                        std::vector<Result<SourcedTensor>> tensors, const ReadOptions& options,
                                        std::uint64_t bytes_beside = 0);
std::unique_ptr<TensorSource> source_of(std::shared_ptr<const RandomFile> file,
                                        std::vector<Result<StoredTensor>> tensors, const ReadOptions& options,
                                        std::uint64_t bytes_beside = 0);

// The tensors of all sources, one source after another.
std::unique_ptr<TensorSource> joined_sources(std::vector<std::unique_ptr<TensorSource>> sources);

// The error of one tensor of a file: begins with FILE::NAME.
Error error_of_tensor(const std::string& path, const std::optional<std::string>& name, const Error& error);

// The tensors of a file that lists them: `make` gives the StoredTensor or SourcedTensor of an entry, which has a
// `name`, or why it is not read.
template <typename Entry, typename Make>
auto each_tensor(const std::string& path, std::vector<Entry>& entries, Make make) {
  std::vector<decltype(make(entries.front()))> tensors;
  tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    const std::string name = entry.name;  // make() may take it
    tensors.push_back(make(entry));
    if (!tensors.back()) tensors.back() = error_of_tensor(path, name, tensors.back().error());
  }
  return tensors;
}

}  // namespace tensorstat
