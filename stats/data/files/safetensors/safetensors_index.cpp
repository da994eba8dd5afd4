// The index of a model in several files: .safetensors, torch.save's .bin or MindSpore's .ckpt. Reads each tensor once,
// from the shard that the index names.
#include <algorithm>
#include <new>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/safetensors/shard_index.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

bool is_named_as_index(std::string_view name) {
  constexpr std::string_view kExtensions[] = {".safetensors.index.json", ".bin.index.json", ".ckpt.index.json"};
  return std::ranges::any_of(kExtensions,
                             [&](std::string_view word) { return name.size() > word.size() && name.ends_with(word); });
}

std::string beside(const std::string& path, const std::string& name) {
  return path.substr(0, path.rfind('/') + 1) + name;  // npos + 1 is 0
}

Result<ShardIndex> read_index(const RandomFile& file) {
  const auto fail = [&](const std::string& what) {
    return Error{Code::kUnreadable, printable(file.path()) + ": " + what};
  };
  if (file.size_bytes() > kMostIndexBytes) return fail("has more than 100000000 bytes");
  std::string text(file.size_bytes(), '\0');
  if (Status read = file.read_at(0, std::as_writable_bytes(std::span(text))); !read) return read.error();
  auto index = parse_shard_index(text);
  if (!index) return fail(index.error().message);
  return index;
}

class ShardSource : public TensorSource {
 public:
  ShardSource(std::string path, ShardIndex index, const ReadOptions& options)
      : path_(std::move(path)), index_(std::move(index)), left_of_(index_.shards.size()), options_(options) {
    for (const auto& [tensor, shard] : index_.shard_of) ++left_of_[shard];
    left_ = index_.shard_of.size();
    options_.takes_stream = false;
    options_.original = Original::kAsStored;  // the index's name does not describe its tensors
  }

  // The index's tensors. A missing shard is one error for each of its tensors.
  std::optional<std::uint64_t> count() const override { return left_; }

  std::optional<Result<TensorReader>> next() override try {
    while (true) {
      if (shard_ == nullptr) {
        if (next_shard_ == index_.shards.size()) return std::nullopt;
        if (Status opened = open_shard(); !opened) return opened.error();
      }
      const std::size_t shard = next_shard_ - 1;
      auto tensor = shard_->next();
      if (!tensor) {
        shard_.reset();
        if (left_of_[shard] == 0) continue;
        return Error{Code::kUnreadable, printable(beside(path_, index_.shards[shard])) + ": lacks " + given_up(shard) +
                                            " that the index " + printable(path_) + " has in it"};
      }
      if (*tensor) {
        const std::optional<std::string>& name = (*tensor)->name();  // empty if the file has another format
        const auto entry = index_.shard_of.find(name.value_or(""));
        if (entry == index_.shard_of.end()) {
          return Error{Code::kUnreadable, printable_name(tensor_label(beside(path_, index_.shards[shard]), name)) +
                                              ": is not in the index " + printable(path_)};
        }
        if (entry->second != shard) continue;
      }
      // The name of an unreadable tensor is unknown; it counts as one of this shard.
      if (left_of_[shard] != 0) --left_of_[shard], --left_;
      return tensor;
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  Status open_shard() {
    const std::size_t shard = next_shard_++;
    auto opened = open_tensors(beside(path_, index_.shards[shard]), options_);
    if (opened) return shard_ = *std::move(opened), Status();
    return Error{opened.error().code,
                 opened.error().message + "; the index " + printable(path_) + " has " + given_up(shard) + " in it"};
  }

  // Gives up a shard: its remaining tensors are no longer expected. Returns their number as text.
  std::string given_up(std::size_t shard) {
    const std::uint64_t lost = std::exchange(left_of_[shard], 0);
    left_ -= lost;
    return std::to_string(lost) + (lost == 1 ? " tensor" : " tensors");
  }

  const std::string path_;
  const ShardIndex index_;
  std::vector<std::uint64_t> left_of_;  // for each shard: the tensors not yet read
  std::uint64_t left_ = 0;
  std::size_t next_shard_ = 0;
  std::unique_ptr<TensorSource> shard_;
  ReadOptions options_;
};

bool begins_as_index(std::string_view) { return false; }  // only the name tells it from other JSON

OpenedSource open_index(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto index = read_index(*file);
  if (!index) return index.error();
  return OpenedSource(std::make_unique<ShardSource>(file->path(), *std::move(index), options));
}

std::vector<std::string> parts(const std::string& path) {
  std::vector<std::string> shards;
  const auto file = RandomFile::open(path);
  const auto index = file ? read_index(*file) : Result<ShardIndex>(file.error());
  if (!index) return shards;  // opening it reports the error; the shards are then read as single files
  for (const std::string& shard : index->shards) shards.push_back(beside(path, shard));
  return shards;
}

}  // namespace

extern const TensorFormat safetensors_index_format;
const TensorFormat safetensors_index_format = {.extension = "",
                                               .begins = begins_as_index,
                                               .open = open_index,
                                               .label = ".safetensors.index.json",
                                               .is_named = is_named_as_index,
                                               .parts = parts};

}  // namespace tensorstat
