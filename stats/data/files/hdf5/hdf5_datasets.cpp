#include "stats/data/files/hdf5/hdf5_datasets.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/hdf5/hdf5_lzf.hpp"
#include "stats/data/files/hdf5/hdf5_types.hpp"

namespace tensorstat {
namespace {

constexpr unsigned kHdf5ReadOnly = 0;  // H5F_ACC_RDONLY is a macro that calls a function of the library
constexpr std::size_t kHdf5Depth = 64, kHdf5Objects = 100'000;
constexpr std::uint64_t kHdf5WindowBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kHdf5ChunkBytes = std::uint64_t{1} << 28;  // a larger chunk is refused
constexpr std::uint64_t kHdf5Growth = 1100;                        // no filter of the library packs data better

// Elements in C order, read window by window: some indices fixed, a range of the next axis, all of the others.
class Hdf5Bytes : public ByteSource {
 public:
  Hdf5Bytes(std::shared_ptr<const Hdf5File> file, std::string name, std::string member, Shape shape, Shape chunk,
            std::size_t element_bytes)
      : file_(std::move(file)),
        name_(std::move(name)),
        member_(std::move(member)),
        shape_(std::move(shape)),
        element_bytes_(element_bytes) {
    if (shape_.empty()) shape_ = {1};
    each_ = 1;
    for (std::uint64_t d : shape_) each_ *= d;
    for (; axis_ < shape_.size(); ++axis_) {
      each_ /= shape_[axis_];  // elements of one index of this axis; the shape is not empty
      rows_ = kHdf5WindowBytes / element_bytes_ / each_;
      if (rows_ != 0 || axis_ + 1 == shape_.size()) break;
    }
    rows_ = std::clamp<std::uint64_t>(rows_, 1, shape_[axis_]);
    // A chunk is unpacked whole, so a window has whole chunks if it can.
    if (!chunk.empty() && rows_ > chunk[axis_]) rows_ -= rows_ % chunk[axis_];
  }
  ~Hdf5Bytes() override { Hdf5Bytes::release(); }
  const std::string& path() const override { return file_->file().path(); }
  std::uint64_t modified_us() const override { return file_->file().modified_us(); }
  bool seeks() const override { return true; }
  void release() override {
    const Hdf5Access access(file_->library());
    dataset_.reset();
    type_.reset();
    window_ = {};
  }

  // The bytes to unpack for all windows: each window unpacks every chunk that it touches, as a whole.
  std::uint64_t unpacked_bytes(const Shape& chunk, std::size_t record_bytes) const {
    std::uint64_t bytes = record_bytes;
    const auto times = [&](std::uint64_t count) {
      if (__builtin_mul_overflow(bytes, count, &bytes)) bytes = UINT64_MAX;
    };
    const auto parts = [](std::uint64_t whole, std::uint64_t part) { return whole / part + (whole % part != 0); };
    for (std::size_t d = 0; d < chunk.size(); ++d) {
      times(chunk[d]);
      times(d < axis_ ? shape_[d] : d > axis_ ? parts(shape_[d], chunk[d]) : parts(shape_[d], rows_));
      if (d == axis_) times(parts(rows_, chunk[d]));
    }
    return bytes;
  }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    while (!out.empty()) {
      if (offset_bytes < begin_bytes_ || offset_bytes >= begin_bytes_ + window_.size()) {
        if (Status loaded = load(offset_bytes / element_bytes_); !loaded) return loaded;
      }
      const std::size_t position = offset_bytes - begin_bytes_, count = std::min(window_.size() - position, out.size());
      std::memcpy(out.data(), window_.data() + position, count);
      out = out.subspan(count);
      offset_bytes += count;
    }
    return {};
  }

 private:
  Error fault() const {
    return hdf5_unreadable(printable_name(tensor_label(path(), name_)) +
                           ": libhdf5 cannot read it: it is damaged, or packed in a way that is not known");
  }

  // Opens the dataset, and the type of its elements in this machine's order.
  Status open() {
    if (dataset_) return {};
    const Hdf5Library& hdf5 = file_->library();
    dataset_.emplace(hdf5.H5Dopen2_(file_->id(), name_.c_str(), H5P_DEFAULT), hdf5.H5Dclose_);
    const Hdf5Id whole(*dataset_ ? hdf5.H5Dget_type_(dataset_->get()) : -1, hdf5.H5Tclose_);
    const Hdf5Id stored(!whole            ? -1
                        : member_.empty() ? hdf5.H5Tcopy_(whole.get())
                                          : hdf5_member_type(hdf5, whole.get(), member_),
                        hdf5.H5Tclose_);
    // The library turns an enumeration into the integers that it is made of.
    const bool is_enumeration = stored && hdf5.H5Tget_class_(stored.get()) == H5T_ENUM;
    const Hdf5Id numbers(is_enumeration ? hdf5.H5Tget_super_(stored.get()) : -1, hdf5.H5Tclose_);
    type_.emplace(stored ? hdf5.H5Tcopy_(is_enumeration ? numbers.get() : stored.get()) : -1, hdf5.H5Tclose_);
    const auto order = std::endian::native == std::endian::little ? H5T_ORDER_LE : H5T_ORDER_BE;
    if (!*type_ || hdf5.H5Tset_order_(type_->get(), order) < 0) {
      type_.reset();
      dataset_.reset();
      return fault();
    }
    if (!member_.empty()) {  // a structure of this member alone
      Hdf5Id alone(hdf5.H5Tcreate_(H5T_COMPOUND, element_bytes_), hdf5.H5Tclose_);
      if (!alone || hdf5.H5Tinsert_(alone.get(), member_.c_str(), 0, type_->get()) < 0) return fault();
      type_.emplace(std::move(alone));
    }
    return {};
  }

  // The window with this element.
  Status load(std::uint64_t element) {
    const Hdf5Library& hdf5 = file_->library();
    const Hdf5Access access(hdf5);
    if (Status opened = open(); !opened) return opened;
    std::vector<hsize_t> start(shape_.size()), count(shape_.begin(), shape_.end());
    const std::uint64_t row = element / each_ % shape_[axis_] / rows_ * rows_;
    std::uint64_t before = element / each_ / shape_[axis_];  // number of the indices before the axis
    const std::uint64_t first = (before * shape_[axis_] + row) * each_;
    for (std::size_t d = axis_; d-- > 0; before /= shape_[d]) {
      start[d] = before % shape_[d];
      count[d] = 1;
    }
    start[axis_] = row;
    count[axis_] = std::min(rows_, shape_[axis_] - row);
    const hsize_t elements = count[axis_] * each_;
    window_.clear();
    window_.resize(elements * element_bytes_);
    begin_bytes_ = first * element_bytes_;
    const Hdf5Id there(hdf5.H5Dget_space_(dataset_->get()), hdf5.H5Sclose_);
    const Hdf5Id here(hdf5.H5Screate_simple_(1, &elements, nullptr), hdf5.H5Sclose_);
    const bool is_scalar = hdf5.H5Sget_simple_extent_type_(there.get()) == H5S_SCALAR;
    const bool is_selected = is_scalar || hdf5.H5Sselect_hyperslab_(there.get(), H5S_SELECT_SET, start.data(), nullptr,
                                                                    count.data(), nullptr) >= 0;
    if (!there || !here || !is_selected ||
        hdf5.H5Dread_(dataset_->get(), type_->get(), here.get(), there.get(), H5P_DEFAULT, window_.data()) < 0) {
      window_.clear();
      return fault();
    }
    return {};
  }

  const std::shared_ptr<const Hdf5File> file_;
  const std::string name_, member_;  // member: of structures; else empty
  Shape shape_;
  const std::size_t element_bytes_;
  std::size_t axis_ = 0;                  // a window is a range of this axis
  std::uint64_t rows_ = 1, each_ = 1;     // its length, and the elements of one index
  std::optional<Hdf5Id> dataset_, type_;  // once opened
  std::vector<std::byte> window_;
  std::uint64_t begin_bytes_ = 0;
};

struct Hdf5Walk {
  const Hdf5File& file;
  std::vector<Result<std::string>> datasets = {};
  std::set<std::pair<unsigned long, unsigned long>> seen = {};  // object numbers
  std::size_t depth = 0, objects = 0;
  std::string prefix = {};
  std::exception_ptr thrown = nullptr;  // nothing may be thrown through the library
};

constexpr herr_t kHdf5Stop = -1;

herr_t visit_link(hid_t group, const char* name, const H5L_info_t* link, void* data) {
  Hdf5Walk& walk = *static_cast<Hdf5Walk*>(data);
  const Hdf5Library& hdf5 = walk.file.library();
  try {
    if (++walk.objects > kHdf5Objects) return kHdf5Stop;
    const std::string full = walk.prefix + name;
    const auto refuse = [&](const std::string& what) {
      walk.datasets.push_back(
          hdf5_unsupported(printable_name(tensor_label(walk.file.file().path(), full)) + ": " + what));
      return 0;
    };
    if (link->type == H5L_TYPE_SOFT) return 0;
    if (link->type != H5L_TYPE_HARD) return refuse("is in another file, by an external link, which is not followed");
    H5G_stat_t facts;
    if (hdf5.H5Gget_objinfo_(group, name, 0, &facts) < 0) return refuse("is damaged");
    if (!walk.seen.emplace(facts.objno[0], facts.objno[1]).second) return 0;
    if (facts.type == H5G_DATASET) walk.datasets.push_back(full);
    if (facts.type != H5G_GROUP) return 0;
    if (walk.depth == kHdf5Depth) return refuse("is nested too deep");
    const Hdf5Id child(hdf5.H5Gopen2_(group, name, H5P_DEFAULT), hdf5.H5Gclose_);
    if (!child) return refuse("is damaged");
    const std::size_t length = walk.prefix.size();
    walk.prefix = full + "/";
    ++walk.depth;
    const herr_t status = hdf5.H5Literate_(child.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_link, data);
    --walk.depth;
    walk.prefix.resize(length);
    return status < 0 && walk.thrown == nullptr && walk.objects <= kHdf5Objects ? refuse("is damaged") : status;
  } catch (...) {
    walk.thrown = std::current_exception();
    return kHdf5Stop;
  }
}

// The creation properties: the shape of chunks, and whether the data can be read.
struct Hdf5Chunk {
  Shape shape;             // empty: the data is not chunked
  bool is_packed = false;  // by a filter
};
Result<Hdf5Chunk> hdf5_chunk(const Hdf5Library& hdf5, hid_t dataset, std::size_t dimensions,
                             std::size_t element_bytes) {
  const Hdf5Id plist(hdf5.H5Dget_create_plist_(dataset), hdf5.H5Pclose_);
  if (!plist) return hdf5_unreadable("is damaged");
  if (hdf5.H5Pget_external_count_(plist.get()) > 0)
    return hdf5_unsupported("has its elements in another file, which is not opened");
  const H5D_layout_t layout = hdf5.H5Pget_layout_(plist.get());
  if (layout == H5D_VIRTUAL) return hdf5_unsupported("is a virtual dataset of other files, which are not opened");
  Hdf5Chunk chunking;
  if (layout != H5D_CHUNKED) return chunking;
  Shape& chunk = chunking.shape;
  std::vector<hsize_t> lengths(dimensions);
  if (hdf5.H5Pget_chunk_(plist.get(), static_cast<int>(dimensions), lengths.data()) < 0)
    return hdf5_unreadable("is damaged");
  chunk.assign(lengths.begin(), lengths.end());
  if (const auto count = element_count(chunk, element_bytes);
      !count || *count * element_bytes > kHdf5ChunkBytes || *count == 0) {
    return hdf5_unsupported("has chunks of shape " + to_string(chunk) + ", which exceed 268435456 bytes");
  }
  const int filters = hdf5.H5Pget_nfilters_(plist.get());
  if (filters > 0) register_hdf5_lzf(hdf5);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    char name[64] = {};
    const H5Z_filter_t filter = hdf5.H5Pget_filter2_(plist.get(), static_cast<unsigned>(i), &flags, &values, nullptr,
                                                     sizeof name - 1, name, &config);
    if (filter < 0 || hdf5.H5Zfilter_avail_(filter) <= 0) {
      return hdf5_unsupported("is packed by the filter " + std::to_string(filter) + " (" + shown(name) +
                              "), and plugins are not loaded");
    }
  }
  chunking.is_packed = filters > 0;
  return chunking;
}

}  // namespace

Result<std::shared_ptr<const Hdf5File>> Hdf5File::open(std::shared_ptr<const RandomFile> file) {
  const auto library = hdf5_library();
  if (!library) return Error{library.error().code, printable(file->path()) + ": " + library.error().message};
  const Hdf5Access access(**library);
  const hid_t id = (*library)->H5Fopen_(file->path().c_str(), kHdf5ReadOnly, H5P_DEFAULT);
  if (id < 0) {
    return hdf5_unreadable(printable(file->path()) +
                           ": libhdf5 cannot open it: it is damaged, or another program writes it");
  }
  return std::shared_ptr<const Hdf5File>(new Hdf5File(std::move(file), **library, id));
}

Hdf5File::~Hdf5File() {
  const Hdf5Access access(library_);
  library_.H5Fclose_(id_);
}

Result<std::vector<Result<std::string>>> hdf5_names(const Hdf5File& file) {
  const Hdf5Access access(file.library());
  Hdf5Walk walk{file};
  const herr_t status = file.library().H5Literate_(file.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_link, &walk);
  if (walk.thrown) return out_of_memory();
  if (walk.objects > kHdf5Objects) {
    return hdf5_unreadable(printable(file.file().path()) + ": has more than " + std::to_string(kHdf5Objects) +
                           " objects");
  }
  if (status < 0) return hdf5_unreadable(printable(file.file().path()) + ": its groups are damaged");
  return std::move(walk.datasets);
}

std::vector<std::string> hdf5_members_of(const Hdf5File& file, const std::string& name) {
  const Hdf5Library& hdf5 = file.library();
  const Hdf5Access access(hdf5);
  const Hdf5Id dataset(hdf5.H5Dopen2_(file.id(), name.c_str(), H5P_DEFAULT), hdf5.H5Dclose_);
  const Hdf5Id type(dataset ? hdf5.H5Dget_type_(dataset.get()) : -1, hdf5.H5Tclose_);
  return type ? hdf5_members(hdf5, type.get()) : std::vector<std::string>();
}

Result<SourcedTensor> hdf5_dataset(const std::shared_ptr<const Hdf5File>& file, const std::string& name,
                                   const std::string& member) {
  const Hdf5Library& hdf5 = file->library();
  const Hdf5Access access(hdf5);
  const Hdf5Id dataset(hdf5.H5Dopen2_(file->id(), name.c_str(), H5P_DEFAULT), hdf5.H5Dclose_);
  if (!dataset) return hdf5_unreadable("is damaged");
  const Hdf5Id type(hdf5.H5Dget_type_(dataset.get()), hdf5.H5Tclose_),
      space(hdf5.H5Dget_space_(dataset.get()), hdf5.H5Sclose_);
  if (!type || !space || !hdf5_holds_members(hdf5, type.get())) return hdf5_unreadable("is damaged");
  const Hdf5Id of_member(member.empty() ? -1 : hdf5_member_type(hdf5, type.get(), member), hdf5.H5Tclose_);
  if (!member.empty() && !of_member) return hdf5_unreadable("is damaged");
  const auto dtype = hdf5_dtype(hdf5, member.empty() ? type.get() : of_member.get());
  if (!dtype) return dtype.error();
  if (hdf5.H5Sget_simple_extent_type_(space.get()) == H5S_NULL)
    return Error{Code::kNoNumbers, "has no elements and no shape"};
  const int dimensions = hdf5.H5Sget_simple_extent_ndims_(space.get());
  if (dimensions < 0 || dimensions > H5S_MAX_RANK) return hdf5_unreadable("is damaged");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(dimensions));
  if (dimensions > 0 && hdf5.H5Sget_simple_extent_dims_(space.get(), lengths.data(), nullptr) < 0)
    return hdf5_unreadable("is damaged");
  const Shape shape(lengths.begin(), lengths.end());
  const std::size_t size = size_bytes(*dtype), record = member.empty() ? size : hdf5.H5Tget_size_(type.get());
  const auto count = element_count(shape, std::max(size, record));
  if (!count) return count.error();
  const auto chunk = hdf5_chunk(hdf5, dataset.get(), shape.size(), record);
  if (!chunk) return chunk.error();
  const std::uint64_t stored = hdf5.H5Dget_storage_size_(dataset.get());
  if (*count * record > kHdf5WindowBytes && *count * record / kHdf5Growth > stored) {
    return hdf5_unsupported("shape " + to_string(shape) + " needs " + std::to_string(*count * record) + " bytes, and " +
                            std::to_string(stored) + " are stored: most of it was never written");
  }
  StoredTensor tensor{
      .name = name + (member.empty() ? "" : "::" + member), .dtype = *dtype, .shape = shape, .element_count = *count};
  if (*count == 0) return SourcedTensor{std::move(tensor)};
  auto bytes = std::make_unique<Hdf5Bytes>(file, name, member, shape, chunk->shape, size);
  // Each member of a structure reads all bytes of the structure.
  const std::uint64_t unpacked = chunk->is_packed ? bytes->unpacked_bytes(chunk->shape, record)
                                 : member.empty() ? 0
                                                  : *count * record;
  return SourcedTensor{std::move(tensor), std::move(bytes), unpacked};
}

}  // namespace tensorstat
