// .npy: one array, or several that numpy.save wrote one after another. The first has no name; the others are named "1",
// "2" and so on.
#include <new>
#include <utility>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/npy/npy_header.hpp"
#include "stats/data/files/npy/npy_tensor.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/files/unfolding.hpp"

namespace tensorstat {
namespace {

bool begins_as_npy(std::string_view head) { return head.starts_with(kNpyMagic); }

class ArraysOfFile : public TensorSource {
 public:
  ArraysOfFile(std::shared_ptr<const RandomFile> file, const ReadOptions& options)
      : file_(std::move(file)), bytes_(bytes_of(file_)), options_(options), unfolding_(file_->size_bytes()) {}

  // Must be called, and succeed, before the first next().
  Status open() { return move_to(0); }

  std::optional<std::uint64_t> count() const override {
    if (array_.end_bytes != file_->size_bytes()) return std::nullopt;
    return array_.tensors.size() - next_;
  }

  std::optional<Result<TensorReader>> next() override try {
    while (next_ == array_.tensors.size()) {
      if (array_.end_bytes == file_->size_bytes()) return std::nullopt;
      if (Status moved = move_to(array_.end_bytes); !moved) {
        array_ = {.end_bytes = file_->size_bytes()};  // after an error, the begin of the next array is unknown
        next_ = 0;
        return moved.error();
      }
    }
    Result<StoredTensor>& tensor = array_.tensors[next_++];
    if (!tensor) return tensor.error();
    if (Status taken = unfolding_.take(bytes_to_read(*tensor)); !taken) {
      return error_of_tensor(file_->path(), tensor->name, taken.error());
    }
    return TensorReader(bytes_of(file_), *std::move(tensor), options_.window_bytes);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  Status move_to(std::uint64_t at_bytes) {
    const auto name = number_ == 0 ? std::nullopt : std::optional(std::to_string(number_));
    const ByteRange rest{at_bytes, file_->size_bytes() - at_bytes};
    auto array = read_npy_array(*bytes_, name, rest, options_.original, true);
    if (!array) return array.error();
    char head[kNpyMagic.size()] = {};
    if (file_->size_bytes() - array->end_bytes >= sizeof head) {
      Status read = file_->read_at(array->end_bytes, std::as_writable_bytes(std::span(head)));
      if (!read) return read;
    }
    // Other bytes follow. Reading them as the rest of this array gives the error about excess bytes.
    if (!begins_as_npy({head, sizeof head})) array = read_npy_array(*bytes_, name, rest, options_.original);
    if (!array) return array.error();
    array_ = *std::move(array);
    next_ = 0;
    ++number_;
    return {};
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::unique_ptr<ByteSource> bytes_;
  const ReadOptions options_;
  Unfolding unfolding_;  // each field of structures reads their bytes again
  NpyArray array_;
  std::size_t next_ = 0;      // index of the next tensor in array_
  std::uint64_t number_ = 0;  // number of the next array
};

OpenedSource open_npy(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto source = std::make_unique<ArraysOfFile>(std::move(file), options);
  if (Status opened = source->open(); !opened) return opened.error();
  return OpenedSource(std::move(source));
}

}  // namespace

extern const TensorFormat npy_format;
const TensorFormat npy_format = {".npy", begins_as_npy, open_npy};

}  // namespace tensorstat
