// .pt, .pth, .bin and .ckpt: what torch.save wrote, a zip archive since torch 1.6 and a chain of pickles before. The
// pickle is read as data (pickle.hpp): nothing in it runs. Elements are read in place and not checked: torch need not
// write a checksum of them.
// Formats: https://github.com/pytorch/pytorch torch/serialization.py, torch/_utils.py
#include "stats/data/files/torch/torch_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/torch/pickle.hpp"
#include "stats/data/files/torch/strided_view.hpp"
#include "stats/data/files/torch/torch_objects.hpp"
#include "stats/data/files/torch/torch_storages.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostPickleBytes = std::uint64_t{64} << 20;
constexpr std::string_view kPickleName = "data.pkl";

// Bytes of two values as those values, with a last dimension of 2, as such tensors are read in memory.
Result<StoredTensor> pairs_of(StoredTensor stored, std::uint64_t offset_bytes) {
  const auto [original, dtype] = widened(stored.dtype);
  stored.shape.push_back(2);
  const auto count = element_count(stored.shape);
  if (!count) return count.error();
  stored.dtype = dtype;
  stored.original = original;
  stored.element_count = *count;
  stored.is_packed = true;
  stored.packed_at_bytes = offset_bytes;
  return stored;
}

}  // namespace

Result<StoredTensor> stored_of(const TorchTensor& tensor, Storages& storages, bool is_big_endian,
                               std::uint64_t window_bytes) {
  const auto storage = storages.find(tensor.storage);
  if (!storage) return storage.error();
  const std::uint32_t size = size_bytes(tensor.dtype);
  StridedView view{0, size, tensor.shape, tensor.stride};
  const auto span = span_of(view);
  if (!span) return span.error();
  const auto count = element_count(tensor.shape, size);
  if (!count) return count.error();
  const std::uint64_t there = storage->bytes / size;
  if (*span != 0 && (tensor.offset > there || *span > there - tensor.offset)) {
    return Error{Code::kUnreadable, "has elements up to " + std::to_string(tensor.offset) + " + " +
                                        std::to_string(*span) + " of a storage of " + std::to_string(there)};
  }
  StoredTensor stored{.name = tensor.name.empty() ? std::nullopt : std::optional(tensor.name),
                      .dtype = tensor.dtype,
                      .swapped = is_big_endian != (std::endian::native == std::endian::big) && size > 1,
                      .is_negated = tensor.is_negated,
                      .is_conjugated = tensor.is_conjugated,
                      .shard = tensor.shard,
                      .shape = tensor.shape,
                      .element_count = *count};
  view.offset_bytes = storage->offset_bytes + (*span == 0 ? 0 : tensor.offset * size);
  const bool is_c = *span == 0 || is_c_order(view);
  if (is_packed(tensor.dtype))
    return is_c ? pairs_of(std::move(stored), view.offset_bytes)
                : Error{Code::kUnsupported, "holds pairs of float4_e2m1fn that lie apart, which are not read"};
  stored.fortran_order = !is_c && is_fortran_order(view);
  if (is_c || stored.fortran_order) {
    stored.offset_bytes = view.offset_bytes;
  } else {
    stored.tiles = tiles_of(view, *span, window_bytes);
  }
  return stored;
}

namespace {

// The elements of an array, in memory.
class ArrayBytes : public ByteSource {
 public:
  ArrayBytes(std::shared_ptr<const RandomFile> file, std::shared_ptr<const std::string> elements)
      : file_(std::move(file)), elements_(std::move(elements)) {}
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return true; }
  bool is_shareable() const override { return true; }
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (offset_bytes > elements_->size() || out.size() > elements_->size() - offset_bytes) {
      return Error{Code::kUnreadable, printable(path()) + ": a NumPy array in its pickle ends early"};
    }
    std::memcpy(out.data(), elements_->data() + offset_bytes, out.size());
    return {};
  }

 private:
  const std::shared_ptr<const RandomFile> file_;
  const std::shared_ptr<const std::string> elements_;
};

Result<SourcedTensor> sourced_of(const TorchTensor& tensor, Storages& storages, bool is_big_endian,
                                 std::uint64_t window_bytes, const std::shared_ptr<const RandomFile>& file) {
  if (tensor.elements == nullptr) {
    auto stored = stored_of(tensor, storages, is_big_endian, window_bytes);
    return stored ? Result<SourcedTensor>(SourcedTensor{*std::move(stored)}) : stored.error();
  }
  const auto count = element_count(tensor.shape, size_bytes(tensor.dtype));
  if (!count) return count.error();
  StoredTensor stored{.name = tensor.name.empty() ? std::nullopt : std::optional(tensor.name),
                      .dtype = tensor.dtype,
                      .swapped = tensor.is_swapped,
                      .fortran_order = tensor.is_fortran,
                      .shape = tensor.shape,
                      .element_count = *count};
  return SourcedTensor{std::move(stored), std::make_unique<ArrayBytes>(file, tensor.elements)};
}

Error unreadable(const RandomFile& file, const std::string& what) {
  return {Code::kUnreadable, printable(file.path()) + ": " + what};
}

OpenedSource source_of_pickle(std::shared_ptr<const RandomFile> file, const Pickle& pickle, Storages& storages,
                              bool is_big_endian, const ReadOptions& options, std::uint64_t bytes_behind = 0,
                              std::string_view prefix = {}) {
  auto objects = torch_objects(pickle);
  if (!objects) return unreadable(*file, objects.error().message);
  std::vector<Result<SourcedTensor>> tensors;
  tensors.reserve(objects->tensors.size());
  for (Result<TorchTensor>& each : objects->tensors) {
    if (each) each->name.insert(0, prefix);
    tensors.push_back(each ? sourced_of(*each, storages, is_big_endian, options.window_bytes, file)
                           : Result<SourcedTensor>(each.error()));
    if (tensors.back()) continue;
    const Error& error = tensors.back().error();
    const std::string path = printable(file->path());
    const std::string label = each && !each->name.empty() ? printable(tensor_label(file->path(), each->name)) : path;
    // Errors of the archive name the file already.
    const std::size_t named = error.message.starts_with(path + ": ") ? path.size() + 2 : 0;
    tensors.back() = Error{error.code, label + ": " + error.message.substr(named)};
  }
  if (bytes_behind != 0) {
    tensors.push_back(unreadable(*file, "has " + std::to_string(bytes_behind) +
                                            " bytes behind its last storage, such as those of a second torch.save into "
                                            "one file, which are not read"));
  }
  return source_of(std::move(file), std::move(tensors), options);
}

Result<std::string> piece_of(const RandomFile& file, std::uint64_t offset_bytes, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  if (Status read = file.read_at(offset_bytes, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

// Behind the pickles, each after its length in elements.
class LegacyStorages : public Storages {
 public:
  std::map<std::string, Storage, std::less<>> all;

  Result<Storage> find(std::string_view key) override {
    const auto entry = all.find(key);
    if (entry == all.end()) return Error{Code::kUnreadable, "the file has no storage '" + shown(key) + "'"};
    return entry->second;
  }
};

// torch.serialization.MAGIC_NUMBER as a pickle, up to kBeginsBytes of it: of torch's own protocol 2, and of those that
// its caller may choose (pickle_protocol). Protocols 4 and 5 put it in a frame.
constexpr std::string_view kLegacyMagic = "\x8a\nl\xfc\x9c";
constexpr std::string_view kLegacyText = "L119547037146038";  // protocols 0 and 1
constexpr std::string_view kLegacyFrame("\x95\x0d\0\0\0\0\0\0\0", 9);

bool begins_as_legacy(std::string_view head) {
  if (head.starts_with(kLegacyText)) return true;
  if (head.size() < 2 || head[0] != '\x80' || head[1] < 2 || head[1] > 5) return false;
  const std::string_view number = head.substr(head[1] >= 4 && head.substr(2).starts_with(kLegacyFrame) ? 2 + 9 : 2);
  return number.starts_with(kLegacyMagic);
}

// The pickle at `position`, which is moved behind it. Reads as much of the file as that takes: the last of `texts` is
// the beginning of the file so far. Pickles are views of their text, so earlier texts stay.
Result<Pickle> next_pickle(const RandomFile& file, std::deque<std::string>& texts, std::size_t& position) {
  while (true) {
    const std::string& text = texts.back();
    auto pickle = Pickle::read(std::string_view(text).substr(position));
    const bool is_more_there = text.size() < file.size_bytes() && text.size() < kMostPickleBytes;
    if (!pickle && ends_early(pickle.error()) && is_more_there) {
      auto longer = piece_of(file, 0, std::min({file.size_bytes(), kMostPickleBytes, std::uint64_t{text.size()} * 8}));
      if (!longer) return longer.error();
      texts.push_back(*std::move(longer));
      continue;
    }
    if (!pickle) return unreadable(file, pickle.error().message);
    position += pickle->size_bytes();
    return pickle;
  }
}

OpenedSource open_legacy(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  auto text = piece_of(*file, 0, std::min<std::uint64_t>(file->size_bytes(), std::uint64_t{1} << 16));
  if (!text) return text.error();
  std::deque<std::string> texts = {*std::move(text)};
  std::size_t position = 0;
  bool is_big_endian = false;
  // The magic number, the protocol, facts of the system, the objects, and the keys of the storages in their order.
  std::vector<Pickle> pickles;
  for (int i = 0; i < 5; ++i) {
    auto pickle = next_pickle(*file, texts, position);
    if (!pickle) return pickle.error();
    pickles.push_back(*std::move(pickle));
  }
  const Pickle &system = pickles[2], &objects = pickles[3], &keys = pickles[4];
  const Pickle::Node& facts = system[system.root()];
  for (std::size_t k = 0; facts.kind == Pickle::Kind::kDict && k + 1 < facts.items.size(); k += 2) {
    is_big_endian |= system[facts.items[k]].text == "little_endian" && system[facts.items[k + 1]].number == 0;
  }
  const auto known = torch_storages(objects);
  if (!known) return unreadable(*file, known.error().message);
  std::map<std::string_view, std::uint64_t> element_bytes;
  for (const TorchStorage& storage : *known) element_bytes.emplace(storage.key, storage.element_bytes);
  LegacyStorages storages;
  std::uint64_t offset = position;
  for (const std::uint32_t item : keys[keys.root()].items) {
    const std::string key(keys[item].text);
    unsigned char digits[8];
    const auto entry = element_bytes.find(key);
    if (entry == element_bytes.end()) return unreadable(*file, "has a storage '" + shown(key) + "' of unknown type");
    if (file->size_bytes() - offset < sizeof digits) return unreadable(*file, "ends within its storages");
    if (Status read = file->read_at(offset, std::as_writable_bytes(std::span(digits))); !read) return read.error();
    offset += sizeof digits;
    std::uint64_t count = 0, bytes = 0;
    for (int i = 0; i < 8; ++i) count |= std::uint64_t{digits[is_big_endian ? 7 - i : i]} << 8 * i;
    if (__builtin_mul_overflow(count, entry->second, &bytes) || bytes > file->size_bytes() - offset) {
      return unreadable(*file, "ends within its storage '" + shown(key) + "'");
    }
    storages.all[key] = {offset, bytes};
    offset += bytes;
  }
  const std::uint64_t behind = file->size_bytes() - offset;
  return source_of_pickle(std::move(file), objects, storages, is_big_endian, options, behind);
}

// The member of this name, in whatever folder of the archive.
std::vector<ZipMember>::const_iterator find_named(const std::vector<ZipMember>& members, std::string_view name,
                                                  std::size_t first = 0) {
  const std::string end = "/" + std::string(name);
  return std::find_if(members.begin() + static_cast<std::ptrdiff_t>(first), members.end(),
                      [&](const ZipMember& member) { return ("/" + member.name).ends_with(end); });
}

bool is_named_as_torch(std::string_view name) {
  constexpr std::string_view kExtensions[] = {".pt", ".pth", ".ckpt", ".pt2"};
  // Other files are called .bin, too: of these, the names that Transformers, PEFT and Diffusers give.
  constexpr std::string_view kBinNames[] = {"pytorch_model", "adapter_model", "diffusion_pytorch_model", "optimizer"};
  const auto begins = [&](std::string_view word) { return name.starts_with(word); };
  const auto ends = [&](std::string_view word) { return name.size() > word.size() && name.ends_with(word); };
  return std::ranges::any_of(kExtensions, ends) || (name.ends_with(".bin") && std::ranges::any_of(kBinNames, begins));
}

}  // namespace

bool is_torch_archive(const std::vector<ZipMember>& members) {
  return find_named(members, kPickleName) != members.end();
}

OpenedSource open_torch_archive(std::shared_ptr<const RandomFile> file, const std::vector<ZipMember>& members,
                                const ReadOptions& options) {
  const auto pickled = find_named(members, kPickleName);
  const std::string folder = pickled->name.substr(0, pickled->name.size() - kPickleName.size());
  if (find_named(members, kPickleName, static_cast<std::size_t>(pickled - members.begin()) + 1) != members.end()) {
    return unreadable(*file,
                      "holds more than one data.pkl: several files of torch.save in one archive, which are not read");
  }
  const auto content = [&](const ZipMember& member) -> Result<std::string> {
    if (!member.is_plain()) {
      return unreadable(*file, "its member " + printable(member.name) + " is packed, which torch.save does not do");
    }
    if (member.bytes > kMostPickleBytes) {
      return unreadable(*file, "its member " + printable(member.name) + " has more than 67108864 bytes");
    }
    const auto offset = zip_data_offset(*file, member);
    if (!offset) return offset.error();
    return piece_of(*file, *offset, member.bytes);
  };
  const auto text = content(*pickled);
  if (!text) return text.error();
  bool is_big_endian = false;
  if (const auto order = std::ranges::find(members, folder + "byteorder", &ZipMember::name); order != members.end()) {
    const auto word = content(*order);
    if (!word) return word.error();
    is_big_endian = *word == "big";
  }
  const auto pickle = Pickle::read(*text);
  if (!pickle) return unreadable(*file, pickle.error().message);
  ArchiveStorages storages(*file, members, folder + "data/");
  const auto constants = std::ranges::find(members, folder + "constants.pkl", &ZipMember::name);
  if (constants == members.end()) return source_of_pickle(std::move(file), *pickle, storages, is_big_endian, options);
  // For torch.jit.save: tensors in the code.
  const auto of_code = content(*constants);
  if (!of_code) return of_code.error();
  const auto listed = Pickle::read(*of_code);
  if (!listed) return unreadable(*file, listed.error().message);
  ArchiveStorages of_constants(*file, members, folder + "constants/");
  auto objects = source_of_pickle(file, *pickle, storages, is_big_endian, options);
  auto more = source_of_pickle(file, *listed, of_constants, is_big_endian, options, 0, "constants.");
  if (!objects) return objects;
  if (!more) return more;
  std::vector<std::unique_ptr<TensorSource>> both;
  both.push_back(*std::move(objects));
  both.push_back(*std::move(more));
  return joined_sources(std::move(both));
}

extern const TensorFormat torch_format;
const TensorFormat torch_format = {
    .extension = "", .begins = begins_as_legacy, .open = open_legacy, .label = ".pt", .is_named = is_named_as_torch};

}  // namespace tensorstat
