// A file as the tensors in it, whatever its format.
//
//   auto source = open_tensors("model.safetensors", {});
//   while (auto tensor = (*source)->next()) {
//     if (!*tensor) { say((*tensor).error()); continue; }  // the others can be read all the same
//     while (auto got = (*tensor)->read(buffer)) { if (*got == 0) break; ... }
//   }
//
// To add a format: a file in formats/ that defines a TensorFormat, and its row in formats.inc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/files/io/random_file.hpp"
#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

class TensorSource {
 public:
  virtual ~TensorSource() = default;

  // How many tensors next() has still to give; nothing where that shows only at the end.
  virtual std::optional<std::uint64_t> count() const = 0;

  // The next tensor, or why this one cannot be read (the error names file and tensor); nullopt after the last.
  virtual std::optional<Result<TensorReader>> next() = 0;
};

using OpenedSource = Result<std::unique_ptr<TensorSource>>;

// What a file without a header holds.
struct RawTensor {
  Dtype dtype;
  std::optional<Shape> shape = {};  // none: of one dimension, as long as the file
};

struct ReadOptions {
  Original original = Original::kAsStored;  // of a file that holds one tensor
  std::size_t window_bytes = std::size_t{256} << 20;  // see TensorReader
  bool takes_stream = false;   // "-" is the standard input, and a pipe is waited for
  std::optional<RawTensor> raw = {};  // the file is this, whatever it begins with
};

struct TensorFormat {
  std::string_view extension;  // ".npy"; empty where is_named tells
  // Whether a file whose first bytes are `head` (16 of them, or all) is of this format.
  bool (*begins)(std::string_view head);
  // Checks what the file says of its tensors. The errors name the file.
  OpenedSource (*open)(std::shared_ptr<const RandomFile> file, const ReadOptions& options);
  std::string_view label = extension;  // for messages
  // Whether a walk through folders takes a file of this name, which is without folders.
  bool (*is_named)(std::string_view name) = nullptr;
  // The files that are read with one of this format, which a walk through folders does not take by themselves.
  std::vector<std::string> (*parts)(const std::string& path) = nullptr;

  bool fits(std::string_view path) const;  // extension or is_named
};

// Every format, in the order of formats.inc.
std::span<const TensorFormat* const> tensor_formats();

// Opens a regular file of any format: what its beginning says, or else its extension; or a stream, where these are
// taken (stream_source.hpp).
OpenedSource open_tensors(std::string path, const ReadOptions& options);

// The tensor of a file that holds exactly one.
Result<TensorReader> open_tensor(std::string path, const ReadOptions& options);

// Why a pickle that torch.save did not write is not read, and what to do instead.
Error pickle_refused(const std::string& path);

// Whether a walk through a folder takes a file of this name.
bool is_named_as_tensors(std::string_view path);

// The files that are read with this one, of which a walk through folders takes this one alone.
std::vector<std::string> parts_of(const std::string& path);

// For formats that know all tensors when a file is opened: a source of those, in this order.
std::unique_ptr<TensorSource> source_of(std::shared_ptr<const RandomFile> file,
                                        std::vector<Result<StoredTensor>> tensors, const ReadOptions& options);

}  // namespace tensorstat
