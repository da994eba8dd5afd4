#include "stats/data/files/file_kind.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view begins;
  FileKind kind;
  std::size_t from = 0;  // the offset of these bytes
};

// From the formats' own definitions.
constexpr Beginning kLfsPointer = {"version https://git-lfs",
                                   {"a Git LFS pointer, and not the file itself", "`git lfs pull` brings it", true}};

constexpr FileKind kPickle = {"a pickle", {}, true, true};

constexpr Beginning kBeginnings[] = {
    kLfsPointer,
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
    {"\x04\x22\x4d\x18", {"a file packed by lz4", "unpack it first"}},
    {"ustar", {"a tar archive", "unpack it first"}, 257},  // POSIX's and GNU's
    {"TFL3", {"a TensorFlow Lite model", {}, true}, 4},
    {"\x7f"
     "ELF",
     {"a program or a library"}},
    // Protocols 2 to 5 of Python's pickle.
    {"\x80\2", kPickle},
    {"\x80\3", kPickle},
    {"\x80\4", kPickle},
    {"\x80\5", kPickle},
};

struct Ending {
  std::string_view ends;  // of the path; with a leading slash: a whole name
  FileKind kind;
};

constexpr FileKind kZarr = {"metadata of a Zarr store", "name the folder of the store"};
constexpr FileKind kOrbax = {"a part of an Orbax checkpoint", "restore it and save its arrays with numpy.savez", true};
constexpr FileKind kTensorFlow = {"a part of a TensorFlow checkpoint", "tf.train.load_checkpoint and numpy.savez",
                                  true};

constexpr Ending kEndings[] = {
    {".parquet", {"a Parquet file"}},
    {".arrow", {"an Arrow file"}},
    {".feather", {"a Feather file"}},
    {"/.zattrs", kZarr},
    {"/.zmetadata", kZarr},
    {".zarr.zip", {"a packed Zarr store", "unpack it first", true}},
    {"/_CHECKPOINT_METADATA", kOrbax},
    {"/_METADATA", kOrbax},
    {"/_sharding", kOrbax},
    {"/manifest.ocdbt", kOrbax},
    {".tfrecord", {"a TFRecord file"}},
    {".tfrecords", {"a TFRecord file"}},
    {".ckpt.index", kTensorFlow},
    {".ckpt.meta", kTensorFlow},
    {"/saved_model.pb", {"a TensorFlow SavedModel", {}, true}},
    {".tflite", {"a TensorFlow Lite model", {}, true}},
    {".keras", {"a Keras archive", "unpack it, and read its model.weights.h5", true}},
    {".msgpack", {"a Flax checkpoint", {}, true}},
    {".distcp", {"a part of a distributed checkpoint of torch", "name its folder, or its .metadata", true}},
    {".pdparams", {"a PaddlePaddle checkpoint", {}, true}},
    {".mindir", {"a MindIR model", {}, true}},
    {".om", {"an offline model of Ascend's", {}, true}},
    {".mat", {"a MATLAB file", {}, true}},
    {".pkl", kPickle},
    {".pickle", kPickle},
    {".joblib", {"a pickle of joblib's", {}, true}},
    {".tar", {"a tar archive", "unpack it first"}},
    {".tgz", {"a packed tar archive", "unpack it first"}},
    {".gz", {"a file packed by gzip", "unpack it first"}},
    {".zst", {"a file packed by zstd", "unpack it first"}},
    {".zip", {"a zip archive", "unpack it first"}},
};

}  // namespace

Result<std::string> head_of(const RandomFile& file) {
  std::string head(std::min<std::uint64_t>(kKindBytes, file.size_bytes()), '\0');
  if (Status read = file.read_at(0, std::as_writable_bytes(std::span(head))); !read) return std::move(read).error();
  return head;
}

FileKind kind_of_text(std::string_view head) {
  constexpr std::size_t kLeastText = 16;  // shorter files say too little
  if (head.starts_with(kLfsPointer.begins)) return kLfsPointer.kind;
  const auto is_of_text = [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return (byte >= ' ' && byte != 0x7f) || each == '\n' || each == '\r' || each == '\t';
  };
  // A message of protobuf may begin with a line break.
  if (head.size() < kLeastText || head.front() == '\n' || !std::ranges::all_of(head, is_of_text)) return {};
  const std::size_t first = head.find_first_not_of(" \r\n\t");
  const std::string_view words = head.substr(std::min(first, head.size()));
  if (words.starts_with("<!") || words.starts_with("<html") || words.starts_with("<HTML")) {
    return {"an HTML page, and not the file itself", "download the file, perhaps with a login"};
  }
  if (words.starts_with('{') || words.starts_with('['))
    return {"JSON, and no file of tensors", "download the file itself"};
  return {"a text, and no file of tensors", "download the file itself"};
}

FileKind kind_of_file(std::string_view head, std::string_view path) {
  for (const auto& [begins, kind, from] : kBeginnings) {
    if (head.size() > from && head.substr(from).starts_with(begins)) return kind;
  }
  for (const auto& [ends, kind] : kEndings) {
    if (path.ends_with(ends) || (ends.front() == '/' && path == ends.substr(1))) return kind;
  }
  return {};
}

FileKind kind_of_file(const std::string& path) {
  const auto file = RandomFile::open(path);
  const auto head = file ? head_of(*file) : Result<std::string>(file.error());
  return kind_of_file(head ? *head : std::string_view(), path);
}

}  // namespace tensorstat
