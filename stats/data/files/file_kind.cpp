#include "stats/data/files/file_kind.hpp"

#include <algorithm>
#include <span>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view begins;
  FileKind kind;
};

// Of the formats' own definitions.
constexpr Beginning kBeginnings[] = {
    {"PAR1", {"a Parquet file"}},
    {"ARROW1", {"an Arrow file"}},
    {"FEA1", {"a Feather file"}},
    {"tensorstat ring", {"the last steps of a run", "`tensorstat events FOLDER --write` makes a dump of them"}},
    {"SQLite format 3\0"sv, {"an SQLite database"}},
    {"\x1f\x8b", {"a file packed by gzip", "unpack it first"}},
    {"\x28\xb5\x2f\xfd", {"a file packed by zstd", "unpack it first"}},
    {"\xfd"
     "7zXZ",
     {"a file packed by xz", "unpack it first"}},
    {"BZh", {"a file packed by bzip2", "unpack it first"}},
    {"7z\xbc\xaf\x27\x1c", {"a 7z archive", "unpack it first"}},
    {"Rar!", {"a RAR archive", "unpack it first"}},
    {"\x7f"
     "ELF",
     {"a program or a library"}},
    // Protocols 2 to 5 of Python's pickle.
    {"\x80\2", {"a pickle"}},
    {"\x80\3", {"a pickle"}},
    {"\x80\4", {"a pickle"}},
    {"\x80\5", {"a pickle"}},
};

struct Ending {
  std::string_view ends;  // of the path; with a leading slash: a whole name
  FileKind kind;
};

constexpr FileKind kZarr = {"a part of a Zarr store", "numpy.savez of its arrays"};
constexpr FileKind kOrbax = {"a part of an Orbax checkpoint", "restore it and save its arrays with numpy.savez"};
constexpr FileKind kTensorFlow = {"a part of a TensorFlow checkpoint", "tf.train.load_checkpoint and numpy.savez"};

constexpr Ending kEndings[] = {
    {".parquet", {"a Parquet file"}},
    {".arrow", {"an Arrow file"}},
    {".feather", {"a Feather file"}},
    {"/.zarray", kZarr},
    {"/.zgroup", kZarr},
    {"/.zattrs", kZarr},
    {"/.zmetadata", kZarr},
    {"/zarr.json", kZarr},
    {".zarr.zip", kZarr},
    {"/_CHECKPOINT_METADATA", kOrbax},
    {"/_METADATA", kOrbax},
    {"/_sharding", kOrbax},
    {"/manifest.ocdbt", kOrbax},
    {".tfrecord", {"a TFRecord file"}},
    {".tfrecords", {"a TFRecord file"}},
    {".ckpt.index", kTensorFlow},
    {".ckpt.meta", kTensorFlow},
    {"/saved_model.pb", {"a TensorFlow SavedModel"}},
    {".tflite", {"a TensorFlow Lite model"}},
    {".pb", {"a TensorFlow graph"}},
    {".keras", {"a Keras archive", "unpack it, and read its model.weights.h5"}},
    {".msgpack", {"a Flax checkpoint"}},
    {".distcp",
     {"a part of a distributed checkpoint of torch", "torch.distributed.checkpoint.format_utils.dcp_to_torch_save"}},
    {".pdparams", {"a PaddlePaddle checkpoint"}},
    {".mindir", {"a MindIR model"}},
    {".om", {"an offline model of Ascend's"}},
    {".mat", {"a MATLAB file"}},
    {".pkl", {"a pickle"}},
    {".pickle", {"a pickle"}},
    {".joblib", {"a pickle of joblib's"}},
    {".tar", {"a tar archive", "unpack it first"}},
    {".tgz", {"a packed tar archive", "unpack it first"}},
    {".gz", {"a file packed by gzip", "unpack it first"}},
    {".zst", {"a file packed by zstd", "unpack it first"}},
    {".zip", {"a zip archive", "unpack it first"}},
};

}  // namespace

FileKind kind_of_file(std::string_view head, std::string_view path) {
  for (const auto& [begins, kind] : kBeginnings) {
    if (head.starts_with(begins)) return kind;
  }
  for (const auto& [ends, kind] : kEndings) {
    if (path.ends_with(ends) || (ends.front() == '/' && path == ends.substr(1))) return kind;
  }
  return {};
}

FileKind kind_of_file(const std::string& path) {
  char head[16];
  std::size_t bytes = 0;
  if (const auto file = RandomFile::open(path)) {
    const std::size_t there = std::min<std::uint64_t>(sizeof head, file->size_bytes());
    if (file->read_at(0, std::as_writable_bytes(std::span(head, there)))) bytes = there;
  }
  return kind_of_file({head, bytes}, path);
}

}  // namespace tensorstat
