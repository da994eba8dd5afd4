// .npz: a zip archive of .npy members, as numpy.savez and numpy.savez_compressed write it. Stored members are read
// in place, deflated ones unpacked through a window. Both are held to their checksum; a stored one only as far as it is
// read in order: not of structures, nor in Fortran order where C order is wanted.
#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

#include "stats/files/io/checked_bytes.hpp"
#include "stats/files/zip/inflated_bytes.hpp"
#include "stats/files/npy/npy_tensor.hpp"
#include "stats/base/printable.hpp"
#include "stats/files/tensor_source.hpp"
#include "stats/files/torch/torch_file.hpp"
#include "stats/files/zip/zip_directory.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kNpyExtension = ".npy";
// No byte of deflate stands for more than 1,032.
constexpr std::uint64_t kMostGrowth = 1032;

class NpzSource : public TensorSource {
 public:
  NpzSource(std::shared_ptr<const RandomFile> file, std::vector<ZipMember> members, const ReadOptions& options)
      : file_(std::move(file)), members_(std::move(members)), options_(options) {}

  // A member of a structured dtype is several tensors, which shows when it is opened.
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
    if (member.method != kZipStored && member.method != kZipDeflated) {
      return refused(Code::kUnsupported,
                     "is packed by method " + std::to_string(member.method) +
                         "; stored and deflated members are read, as numpy.savez_compressed writes them");
    }
    const bool is_stored = member.method == kZipStored;
    if (is_stored && member.bytes != member.packed_bytes) {
      return refused(Code::kUnreadable, "is stored, but its two sizes differ");
    }
    if (member.bytes / kMostGrowth > member.packed_bytes) {
      return refused(Code::kUnreadable, "would grow from " + std::to_string(member.packed_bytes) + " bytes to " +
                                            std::to_string(member.bytes) + ", which nothing deflated does");
    }
    const auto data_at = zip_data_offset(*file_, member);
    if (!data_at) return data_at.error();
    label_ = tensor_label(file_->path(), name);
    data_at_ = *data_at;
    bytes_ = bytes_of(member);
    // What the name of the archive says of one tensor's dtype is not said of its members.
    const bool is_vouched = options_.original == Original::kVoidIsBfloat16;
    auto array = read_npy_array(*bytes_, name, {is_stored ? *data_at : 0, member.bytes},
                                is_vouched ? Original::kVoidIsBfloat16 : Original::kAsStored);
    if (!array) return array.error();
    fields_ = std::move(array->tensors);
    return {};
  }

  // Of the member that was opened last.
  std::unique_ptr<ByteSource> bytes_of(const ZipMember& member) const {
    return member.method == kZipStored
               ? checked(file_, label_, {data_at_, member.bytes}, member.crc)
               : inflated(file_, label_, {data_at_, member.packed_bytes, member.bytes, member.crc});
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::vector<ZipMember> members_;
  std::unordered_set<std::string> names_;
  std::size_t next_member_ = 0;
  // Of the member before it: its tensors, one or a field each, what messages call it, and where its bytes are.
  std::vector<Result<StoredTensor>> fields_;
  std::size_t next_ = 0;
  std::string label_;
  std::uint64_t data_at_ = 0;
  std::unique_ptr<ByteSource> bytes_;  // those that the header was read from, for the first tensor
  const ReadOptions options_;
};

bool begins_as_zip(std::string_view head) { return head.starts_with("PK\3\4") || head.starts_with("PK\5\6"); }

OpenedSource open_npz(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto members = zip_members(*file);
  if (!members) return members.error();
  if (is_torch_archive(*members)) return open_torch_archive(std::move(file), *members, options);
  std::erase_if(*members, [](const ZipMember& member) { return member.name.ends_with('/'); });  // a folder
  return OpenedSource(std::make_unique<NpzSource>(std::move(file), *std::move(members), options));
}

}  // namespace

extern const TensorFormat npz_format;
const TensorFormat npz_format = {".npz", begins_as_zip, open_npz};

}  // namespace tensorstat
