// .metadata: a distributed checkpoint of torch (FSDP, torchtitan, Megatron-Core). Its tensors are in shards in the
// .distcp files beside it. Each tensor is read as a whole.
// Source: https://github.com/pytorch/pytorch torch/distributed/checkpoint/filesystem.py
#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/io/sharded_bytes.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/files/torch/checkpoint_metadata.hpp"
#include "stats/data/files/torch/torch_file.hpp"
#include "stats/data/files/unfolding.hpp"
#include "stats/data/files/zip/zip_directory.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kMetadataName = ".metadata";
constexpr std::uint64_t kMostMetadataBytes = std::uint64_t{64} << 20;

std::string beside_metadata(const std::string& path, const std::string& name) {
  return path.substr(0, path.rfind('/') + 1) + name;  // npos + 1 is 0
}

using CheckpointTensors = std::vector<Result<CheckpointTensor>>;

Result<CheckpointTensors> read_metadata(const RandomFile& file) {
  const auto fail = [&](const std::string& what) {
    return Error{Code::kUnreadable, printable(file.path()) + ": " + what};
  };
  if (file.size_bytes() > kMostMetadataBytes) return fail("has more than 67108864 bytes");
  std::string text(file.size_bytes(), '\0');
  if (Status read = file.read_at(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  auto tensors = parse_checkpoint_metadata(text);
  if (!tensors) return fail(tensors.error().message);
  return tensors;
}

class CheckpointSource : public TensorSource {
 public:
  CheckpointSource(std::shared_ptr<const RandomFile> file, CheckpointTensors tensors, const ReadOptions& options)
      : file_(std::move(file)), tensors_(std::move(tensors)), options_(options), unfolding_(bytes_of_files()) {}

  std::optional<std::uint64_t> count() const override { return tensors_.size() - next_; }

  std::optional<Result<TensorReader>> next() override try {
    if (next_ == tensors_.size()) return std::nullopt;
    const Result<CheckpointTensor>& tensor = tensors_[next_++];
    if (!tensor) return Error{tensor.error().code, printable(file_->path()) + ": " + tensor.error().message};
    auto reader = whole(*tensor);
    if (!reader) return error_of_tensor(file_->path(), tensor->name, reader.error());
    return reader;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  // The size of the existing files; a missing file is reported with its tensors.
  std::uint64_t bytes_of_files() {
    std::uint64_t bytes = file_->size_bytes();
    for (const auto& tensor : tensors_) {
      for (const CheckpointShard& shard : tensor ? tensor->shards : std::vector<CheckpointShard>()) {
        const auto [entry, is_new] = files_.try_emplace(shard.file, nullptr);
        if (!is_new) continue;
        auto opened = RandomFile::open(beside_metadata(file_->path(), shard.file));
        if (!opened) continue;
        entry->second = std::make_shared<const RandomFile>(*std::move(opened));
        bytes += entry->second->size_bytes();
      }
    }
    return bytes;
  }

  Result<TensorReader> whole(const CheckpointTensor& tensor) {
    StoredTensor stored{.name = tensor.name, .shape = tensor.shape};
    std::vector<ShardBytes> shards;
    for (const CheckpointShard& shard : tensor.shards) {
      const auto& file = files_.at(shard.file);
      if (file == nullptr) return of_shard(shard, "the file is not there, or cannot be opened");
      if (shard.offset_bytes > file->size_bytes() || shard.bytes > file->size_bytes() - shard.offset_bytes) {
        return of_shard(shard, "the file has " + std::to_string(file->size_bytes()) + " bytes");
      }
      auto part = std::make_shared<const RandomFile>(file->part(shard.offset_bytes, shard.bytes));
      const auto members = zip_members(*part);
      if (!members) return members.error();
      if (!is_torch_archive(*members)) return of_shard(shard, "is no archive of torch.save");
      auto source = open_torch_archive(part, *members, {});
      if (!source) return source.error();
      auto piece = (*source)->next();
      if (!piece || (*source)->next()) return of_shard(shard, "does not hold one tensor");
      if (!*piece) return (*piece).error();
      const auto place = (*piece)->place(TensorReader::Order::kC);
      const bool is_first = shards.empty();
      if (is_first) stored.dtype = (*piece)->dtype();
      if (!place || (*piece)->dtype() != stored.dtype || (*piece)->shape() != shard.sizes) {
        return of_shard(shard, "is " + std::string((*piece)->data_type()) + " of shape " +
                                   to_string((*piece)->shape()) + (place ? "" : " and not stored in C order"));
      }
      shards.push_back({shard.offsets, shard.sizes, std::move(part), place->offset_bytes});
    }
    const auto count = element_count(tensor.shape, size_bytes(stored.dtype));
    if (!count) return count.error();
    stored.element_count = *count;
    if (Status taken = unfolding_.take(bytes_to_read(stored)); !taken) return std::move(taken).error();
    auto bytes = sharded_bytes(file_, tensor_label(file_->path(), tensor.name), tensor.shape, size_bytes(stored.dtype),
                               std::move(shards));
    if (!bytes) return bytes.error();
    return TensorReader(*std::move(bytes), std::move(stored), options_.window_bytes);
  }

  static Error of_shard(const CheckpointShard& shard, const std::string& what) {
    return {Code::kUnreadable, "its shard at " + to_string(shard.offsets) + " of shape " + to_string(shard.sizes) +
                                   ", byte " + std::to_string(shard.offset_bytes) + " of " + printable(shard.file) +
                                   ": " + what};
  }

  const std::shared_ptr<const RandomFile> file_;
  const CheckpointTensors tensors_;
  const ReadOptions options_;
  std::map<std::string, std::shared_ptr<const RandomFile>> files_;  // by name; null: cannot be opened
  Unfolding unfolding_;
  std::size_t next_ = 0;
};

// Only the name tells it from other pickles.
bool begins_as_metadata(std::string_view) { return false; }
bool is_named_as_metadata(std::string_view name) { return name == kMetadataName; }

OpenedSource open_metadata(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto tensors = read_metadata(*file);
  if (!tensors) return tensors.error();
  return OpenedSource(std::make_unique<CheckpointSource>(std::move(file), *std::move(tensors), options));
}

std::vector<std::string> metadata_parts(const std::string& path) {
  std::vector<std::string> paths;
  const auto file = RandomFile::open(path);
  const auto tensors = file ? read_metadata(*file) : Result<CheckpointTensors>(file.error());
  if (!tensors) return paths;  // opening it reports the error
  for (const auto& tensor : *tensors) {
    if (!tensor) continue;
    for (const CheckpointShard& shard : tensor->shards) paths.push_back(beside_metadata(path, shard.file));
  }
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());  // clang 14 has no std::ranges::unique
  return paths;
}

}  // namespace

extern const TensorFormat distributed_checkpoint_format;
const TensorFormat distributed_checkpoint_format = {.extension = "",
                                                    .begins = begins_as_metadata,
                                                    .open = open_metadata,
                                                    .label = ".metadata of torch.distributed.checkpoint",
                                                    .is_named = is_named_as_metadata,
                                                    .parts = metadata_parts};

}  // namespace tensorstat
