#include "stats/data/files/tensor_source.hpp"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/file_kind.hpp"
#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/stream_source.hpp"
#include "stats/data/files/unfolding.hpp"

namespace tensorstat {

#define FORMAT(name) extern const TensorFormat name##_format;
#include "stats/data/files/formats.inc"
#undef FORMAT

namespace {

#define FORMAT(name) &name##_format,
constexpr const TensorFormat* kFormats[] = {
#include "stats/data/files/formats.inc"
};
#undef FORMAT

// Names may collide, such as keys with dots, or a constant and an initializer: the second is "name#2".
void tell_apart(std::vector<Result<SourcedTensor>>& tensors) {
  std::unordered_map<std::string_view, std::size_t> counts;  // views of names that stay as they are
  for (const auto& tensor : tensors) {
    if (tensor && tensor->stored.name) counts.emplace(*tensor->stored.name, 0);
  }
  for (auto& tensor : tensors) {
    if (!tensor || !tensor->stored.name) continue;
    const std::string& name = *tensor->stored.name;
    std::size_t& count = counts[name];
    if (++count == 1) continue;
    std::string other = name + "#" + std::to_string(count);
    while (counts.contains(other)) other = name + "#" + std::to_string(++count);
    tensor->stored.name = std::move(other);
  }
}

class ListSource : public TensorSource {
 public:
  ListSource(std::shared_ptr<const RandomFile> file, std::vector<Result<SourcedTensor>> tensors,
             std::size_t window_bytes)
      : file_(std::move(file)), tensors_(std::move(tensors)), window_bytes_(window_bytes) {}

  std::optional<std::uint64_t> count() const override { return tensors_.size() - next_; }

  std::optional<Result<TensorReader>> next() override try {
    if (next_ == tensors_.size()) return std::nullopt;
    Result<SourcedTensor>& tensor = tensors_[next_++];
    if (!tensor) return tensor.error();
    auto bytes = tensor->bytes ? std::move(tensor->bytes) : bytes_of(file_);
    return TensorReader(std::move(bytes), std::move(tensor->stored), window_bytes_);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  const std::shared_ptr<const RandomFile> file_;
  std::vector<Result<SourcedTensor>> tensors_;
  std::size_t next_ = 0;
  const std::size_t window_bytes_;
};

class JoinedSources : public TensorSource {
 public:
  explicit JoinedSources(std::vector<std::unique_ptr<TensorSource>> sources) : sources_(std::move(sources)) {}

  std::optional<std::uint64_t> count() const override {
    std::uint64_t all = 0;
    for (std::size_t i = now_; i < sources_.size(); ++i) {
      const auto left = sources_[i]->count();
      if (!left) return std::nullopt;
      all += *left;
    }
    return all;
  }

  std::optional<Result<TensorReader>> next() override {
    for (; now_ < sources_.size(); ++now_) {
      if (auto tensor = sources_[now_]->next()) return tensor;
    }
    return std::nullopt;
  }

 private:
  const std::vector<std::unique_ptr<TensorSource>> sources_;
  std::size_t now_ = 0;
};

// The format that the bytes of a file tell, `head` being the first of them; null where they tell none.
const TensorFormat* format_by_content(const RandomFile& file, std::string_view head) {
  for (const TensorFormat* format : kFormats) {
    if (format->begins(head.substr(0, kBeginsBytes))) return format;
  }
  // HDF5 behind a user block, as MATLAB 7.3 writes: at 512 bytes, or a power of 2 times that.
  constexpr std::uint64_t kFirstBlock = 512, kLastBlock = std::uint64_t{1} << 16;
  for (std::uint64_t offset = kFirstBlock; offset <= kLastBlock && offset + kBeginsBytes <= file.size_bytes();
       offset *= 2) {
    char behind[kBeginsBytes];
    if (!file.read_at(offset, std::as_writable_bytes(std::span(behind)))) return nullptr;
    if (hdf5_format.begins({behind, sizeof behind})) return &hdf5_format;
  }
  return nullptr;
}

std::string known_formats() {
  std::string known;
  for (const TensorFormat* format : kFormats) known.append(known.empty() ? "" : ", ").append(format->label);
  return known;
}

Error not_supported(const std::string& path, const FileKind& kind) {
  return {Code::kUnsupported, printable(path) + ": " + std::string(kind.what) + "; not supported" +
                                  (kind.instead.empty() ? "" : ": " + std::string(kind.instead)) +
                                  ". Supported: " + known_formats()};
}

}  // namespace

std::span<const TensorFormat* const> tensor_formats() { return kFormats; }

std::unique_ptr<TensorSource> source_of(std::shared_ptr<const RandomFile> file,
                                        std::vector<Result<StoredTensor>> tensors, const ReadOptions& options,
                                        std::uint64_t bytes_beside) {
  std::vector<Result<SourcedTensor>> of_file;
  of_file.reserve(tensors.size());
  for (auto& tensor : tensors) {
    if (tensor) {
      of_file.emplace_back(SourcedTensor{*std::move(tensor)});
    } else {
      of_file.emplace_back(tensor.error());
    }
  }
  return source_of(std::move(file), std::move(of_file), options, bytes_beside);
}

std::unique_ptr<TensorSource> source_of(std::shared_ptr<const RandomFile> file,
                                        std::vector<Result<SourcedTensor>> tensors, const ReadOptions& options,
                                        std::uint64_t bytes_beside) {
  Unfolding unfolding(file->size_bytes() + bytes_beside);
  for (Result<SourcedTensor>& tensor : tensors) {
    if (!tensor) continue;
    const std::uint64_t bytes = std::max(bytes_to_read(tensor->stored), tensor->unpacked_bytes);
    if (Status taken = unfolding.take(bytes); !taken) {
      tensor = error_of_tensor(file->path(), tensor->stored.name, taken.error());
    }
  }
  tell_apart(tensors);
  return std::make_unique<ListSource>(std::move(file), std::move(tensors), options.window_bytes);
}

std::unique_ptr<TensorSource> joined_sources(std::vector<std::unique_ptr<TensorSource>> sources) {
  return std::make_unique<JoinedSources>(std::move(sources));
}

Error error_of_tensor(const std::string& path, const std::optional<std::string>& name, const Error& error) {
  return {error.code, printable_name(tensor_label(path, name)) + ": " + error.message};
}

Error holds_no_tensor(const std::string& path) { return {Code::kNoNumbers, printable(path) + ": holds no tensor"}; }

Error pickle_refused(const std::string& path) {
  return {Code::kUnsupported, printable(path) +
                                  ": holds pickled Python objects, and not as torch.save writes them. To save tensors "
                                  "in a way that is read here: "
                                  "torch.save, safetensors.torch.save_file or numpy.save"};
}

bool TensorFormat::fits(std::string_view path) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return is_named != nullptr ? is_named(name) : name.size() > extension.size() && name.ends_with(extension);
}

bool is_named_as_tensors(std::string_view path) {
  return std::ranges::any_of(kFormats, [&](const TensorFormat* format) { return format->fits(path); });
}

bool begins_as_tensors(const std::string& path) {
  const auto file = RandomFile::open(path);
  const auto head = file ? head_of(*file) : Result<std::string>(file.error());
  if (!head || head->empty()) return false;
  const std::string_view begin = *head;
  const TensorFormat* format = format_by_content(*file, begin);
  // A dump of Ascend's begins like many other files; its name tells it.
  if (format != &npz_format) return format != nullptr && format != &dump_data_format;
  // Other files are zip archives, too: the first member's name tells.
  constexpr std::size_t kNameLengthAt = 26, kNameAt = 30;
  if (begin.size() < kNameAt) return false;
  const std::size_t length = static_cast<unsigned char>(begin[kNameLengthAt]) |
                             static_cast<std::size_t>(static_cast<unsigned char>(begin[kNameLengthAt + 1])) << 8;
  const std::string_view name = begin.substr(kNameAt, length);
  return name.ends_with("data.pkl") || name.ends_with(".npy");
}

std::vector<std::string> parts_of(const std::string& path) {
  for (const TensorFormat* format : kFormats) {
    if (format->parts != nullptr && format->fits(path)) return format->parts(path);
  }
  return {};
}

OpenedSource open_tensors(std::string path, const ReadOptions& options) try {
  if (options.takes_stream && is_stream(path)) return open_stream(path, options);
  if (options.raw) return open_raw(path, options);
  auto opened = RandomFile::open(path);
  if (!opened) return opened.error();
  const auto file = std::make_shared<const RandomFile>(*std::move(opened));
  const auto head = head_of(*file);
  if (!head) return head.error();
  const std::string_view begin = *head;
  // Archives of torch.save one behind another, or one: without the .metadata beside it, its tensors have no names.
  if (path.ends_with(".distcp")) return not_supported(path, kind_of_file({}, path));
  if (const TensorFormat* format = format_by_content(*file, begin)) return format->open(file, options);
  // Only the name tells them from other pickles and from other JSON.
  for (const TensorFormat* format : {&distributed_checkpoint_format, &zarr_format}) {
    if (format->fits(path)) return format->open(file, options);
  }
  if (kind_of_file(begin, {}).is_pickle) return pickle_refused(path);
  // Only a name tells an index of shards from other JSON.
  if (const FileKind text = kind_of_text(begin); !text.what.empty() && !path.ends_with(".json")) {
    const FileKind told = kind_of_file(begin, {});
    if (told.what.empty() || told.what == text.what) {
      return Error{Code::kUnreadable,
                   printable(path) + ": is " + std::string(text.what) + ": " + std::string(text.instead)};
    }
  }
  if (const FileKind kind = kind_of_file(begin, path); !kind.what.empty()) return not_supported(path, kind);
  for (const TensorFormat* format : kFormats) {
    if (format->fits(path)) return format->open(file, options);
  }
  return Error{Code::kUnreadable, printable(path) + ": unknown format; supported: " + known_formats()};
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<TensorReader> open_tensor(std::string path, const ReadOptions& options) try {
  auto source = open_tensors(path, options);
  if (!source) return source.error();
  auto first = (*source)->next();
  if (first && !(*source)->next()) return *std::move(first);
  return first ? Error{Code::kUnreadable, printable(path) + ": holds more than one tensor"} : holds_no_tensor(path);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
