// .npz: a zip archive of .npy members, as numpy.savez and numpy.savez_compressed write it. Stored members are read in
// place, packed ones unpacked through a window. Packed members are always checked against their CRC. Stored ones are
// checked only if they are read in order, so not for structured dtypes, and not for Fortran order when C order is
// wanted.
#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/checked_bytes.hpp"
#include "stats/data/files/npy/npy_tensor.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/files/torch/exported_program.hpp"
#include "stats/data/files/torch/torch_file.hpp"
#include "stats/data/files/unfolding.hpp"
#include "stats/data/files/zip/unpacked_bytes.hpp"
#include "stats/data/files/zip/zip_directory.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kNpyExtension = ".npy";
// Deflate expands by a factor of at most 1,032.
constexpr std::uint64_t kMostGrowth = 1032;

struct Method {
  std::uint16_t number;
  std::string_view name;
  std::optional<Packing> packing = {};  // nullopt: not read
};
// APPNOTE.TXT, 4.4.5.
constexpr Method kMethods[] = {{kZipDeflated, "deflate", Packing::kDeflate},
                               {9, "deflate64"},
                               {12, "bzip2", Packing::kBzip2},
                               {14, "LZMA", Packing::kLzmaOfZip},
                               {93, "zstd", Packing::kZstd},
                               {95, "xz", Packing::kXz}};

std::optional<Packing> packing_of(std::uint16_t method) {
  const auto* const row = std::ranges::find(kMethods, method, &Method::number);
  return row == std::end(kMethods) ? std::nullopt : row->packing;
}

std::string name_of(std::uint16_t method) {
  const auto* const row = std::ranges::find(kMethods, method, &Method::number);
  return row == std::end(kMethods) ? "method " + std::to_string(method) : std::string(row->name);
}

class NpzSource : public TensorSource {
 public:
  NpzSource(std::shared_ptr<const RandomFile> file, std::vector<ZipMember> members, const ReadOptions& options)
      : file_(std::move(file)), members_(std::move(members)), unfolding_(file_->size_bytes()), options_(options) {}

  // Unknown before all members are opened: a structured dtype is several tensors.
  std::optional<std::uint64_t> count() const override {
    return members_.size() - next_member_ + fields_.size() - next_;
  }

  std::optional<Result<TensorReader>> next() override try {
    while (next_ == fields_.size()) {
      if (next_member_ == members_.size()) return std::nullopt;
      next_ = 0;
      fields_.clear();
      if (Status opened = open(members_[next_member_++]); !opened) return opened.error();
    }
    Result<StoredTensor>& tensor = fields_[next_++];
    if (!tensor) return tensor.error();
    if (Status taken = unfolding_.take(bytes_to_read(*tensor)); !taken) {
      return error_of_tensor(file_->path(), tensor->name, taken.error());
    }
    auto bytes = bytes_ ? std::move(bytes_) : bytes_of(members_[next_member_ - 1]);
    return TensorReader(std::move(bytes), *std::move(tensor), options_.window_bytes);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  Status open(const ZipMember& member) {
    std::string name = member.name;
    const bool is_npy = name.ends_with(kNpyExtension);
    if (is_npy) name.resize(name.size() - kNpyExtension.size());
    const auto refused = [&](Code code, const std::string& what) {
      return Error{code, printable_name(tensor_label(file_->path(), name)) + ": " + what};
    };
    if (!is_npy) return refused(Code::kUnsupported, "is no .npy member of the archive");
    if (!names_.insert(name).second) return refused(Code::kUnreadable, "is in the archive more than once");
    if (member.encrypted) return refused(Code::kUnsupported, "is encrypted");
    const bool is_stored = member.method == kZipStored;
    if (!is_stored && !packing_of(member.method)) {
      return refused(Code::kUnsupported,
                     "is packed by " + name_of(member.method) +
                         "; read are stored members, and those that deflate, bzip2, LZMA, xz or zstd packed");
    }
    if (is_stored && member.bytes != member.packed_bytes) {
      return refused(Code::kUnreadable, "is stored, but its two sizes differ");
    }
    if (member.method == kZipDeflated && member.bytes / kMostGrowth > member.packed_bytes) {
      return refused(Code::kUnreadable, "would grow from " + std::to_string(member.packed_bytes) + " bytes to " +
                                            std::to_string(member.bytes) + ", which nothing deflated does");
    }
    const auto data_at = zip_data_offset(*file_, member);
    if (!data_at) return data_at.error();
    label_ = tensor_label(file_->path(), name);
    data_at_ = *data_at;
    bytes_ = bytes_of(member);
    // A dtype suffix in the archive's name does not apply to its members.
    const bool is_vouched = options_.original == Original::kVoidIsBfloat16;
    auto array = read_npy_array(*bytes_, name, {is_stored ? *data_at : 0, member.bytes},
                                is_vouched ? Original::kVoidIsBfloat16 : Original::kAsStored, false, &last_header_);
    if (!array) return array.error();
    fields_ = std::move(array->tensors);
    return {};
  }

  // The bytes of `member`, which must be the current one.
  std::unique_ptr<ByteSource> bytes_of(const ZipMember& member) const {
    return member.method == kZipStored
               ? checked(file_, label_, {data_at_, member.bytes}, member.crc)
               : unpacked(file_, label_,
                          {*packing_of(member.method), data_at_, member.packed_bytes, member.bytes, member.crc});
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::vector<ZipMember> members_;
  std::unordered_set<std::string> names_;
  std::size_t next_member_ = 0;
  // The current member: its tensors, one or one for each field, its name for messages, and the range of its bytes.
  std::vector<Result<StoredTensor>> fields_;
  std::size_t next_ = 0;
  std::string label_;
  std::uint64_t data_at_ = 0;
  LastNpyHeader last_header_;
  std::unique_ptr<ByteSource> bytes_;  // the source from which the header was read, reused for the first tensor
  Unfolding unfolding_;                // each field of structures reads their bytes again
  const ReadOptions options_;
};

bool begins_as_zip(std::string_view head) { return head.starts_with("PK\3\4") || head.starts_with("PK\5\6"); }

OpenedSource open_npz(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto members = zip_members(*file);
  if (!members) return members.error();
  if (is_exported_program(*members)) return open_exported_program(std::move(file), *members, options);
  if (is_torch_archive(*members)) return open_torch_archive(std::move(file), *members, options);
  std::erase_if(*members, [](const ZipMember& member) { return member.name.ends_with('/'); });  // a folder
  return OpenedSource(std::make_unique<NpzSource>(std::move(file), *std::move(members), options));
}

}  // namespace

extern const TensorFormat npz_format;
const TensorFormat npz_format = {".npz", begins_as_zip, open_npz};

}  // namespace tensorstat
