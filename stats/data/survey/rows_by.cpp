#include "stats/data/survey/rows_by.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stats/core/base/abandon.hpp"
#include "stats/data/rows/coordinates.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kSlabBytes = std::uint64_t{64} << 20;

// Elements of a file, in memory.
class Slab {
 public:
  Slab(Dtype dtype, std::uint64_t count)
      : dtype_(dtype), count_(count), bits_(std::make_unique_for_overwrite<std::byte[]>(count * size_bytes(dtype))) {}

  // The next elements of the reader.
  Status fill(TensorReader& reader, const RowListener& listener) {
    for (std::span room(bits_.get(), count_ * size_bytes(dtype_)); !room.empty();) {
      const auto got = reader.read(room.first(std::min(room.size(), std::size_t{1} << 20)));
      if (!got) return got.error();
      room = room.subspan(*got);
      listener.read(*got);
    }
    return {};
  }

  Tensor tensor() const { return part(0, count_); }
  Tensor part(std::uint64_t first, std::uint64_t count) const {
    return {.dtype = dtype_, .element_count = count, .address = bits_.get() + first * size_bytes(dtype_)};
  }

  // A device that no longer answers may still read the memory.
  Status leave(Status status) {
    const bool is_in_use = !status && status.error().code == Code::kInUse;
    if (is_in_use) abandon(std::make_unique<std::unique_ptr<std::byte[]>>(std::move(bits_)));
    return status;
  }

 private:
  const Dtype dtype_;
  const std::uint64_t count_;
  std::unique_ptr<std::byte[]> bits_;
};

class RowsOfFile {
 public:
  RowsOfFile(Meter& meter, const Request& request, TensorReader& reader, By by, const RowListener& listener)
      : meter_(meter), request_(request), reader_(reader), by_(std::move(by)), listener_(listener) {}

  Status measure() {
    auto rows = row_shape(by_);
    auto kept = kept_axes(by_);
    if (!rows || !kept) return !rows ? rows.error() : kept.error();
    rows_ = *std::move(rows);
    kept_ = *std::move(kept);
    for (std::size_t axis = 0; axis < kept_.size(); ++axis) {
      if (!kept_[axis]) row_.push_back(by_.shape[axis]);
    }
    cut();
    if (!has_whole_rows_ && each_ < length_ && std::ranges::any_of(request_.categories, is_digest)) {
      return Error{Code::kUnsupported,
                   "a digest of rows that lie apart, in a tensor of more than 64 MiB: leave it out"};
    }
    reader_.rewind(TensorReader::Order::kC, TensorReader::View::kElements);
    // Once even for an empty tensor, which may have rows.
    for (std::uint64_t first = 0; first == 0 || first < length_; first += each_) {
      if (Status status = take(std::min(each_, length_ - first)); !status) return status;
    }
    return finish();
  }

 private:
  // Chooses the slabs. They are cut along the first axis that is longer than 1.
  void cut() {
    const std::uint64_t room = kSlabBytes / size_bytes(reader_.dtype()), elements = reader_.element_count();
    while (axis_ + 1 < by_.shape.size() && by_.shape[axis_] == 1) ++axis_;
    length_ = by_.shape.empty() ? 1 : by_.shape[axis_];
    index_elements_ = length_ == 0 ? 0 : elements / length_;
    each_ =
        index_elements_ == 0 ? std::max(length_, std::uint64_t{1}) : std::max(room / index_elements_, std::uint64_t{1});
    has_whole_rows_ = each_ >= length_ || kept_[axis_];
  }

  // Measures a slab of `count` indices of the axis, as a tensor of its own.
  Status take(std::uint64_t count) {
    Slab slab(reader_.dtype(), count * index_elements_);
    if (Status filled = slab.fill(reader_, listener_); !filled) return filled;
    By by = by_;
    if (!by.shape.empty()) by.shape[axis_] = count;
    return slab.leave(has_whole_rows_ ? measure_slab(slab.tensor(), by) : fold_slab(slab.tensor(), by));
  }

  Status measure_slab(const Tensor& slab, const By& by) {
    const auto measured = meter_.measure_by(slab, by, request_);
    if (!measured) return measured.error();
    for (const Measurement each : *measured) listener_.row(next_index(), Shape(row_), each);
    return {};
  }

  Status fold_slab(const Tensor& slab, const By& by) {
    auto parts = meter_.fold_by(slab, by, request_);
    if (!parts) return parts.error();
    if (partials_.empty()) {
      partials_ = *std::move(parts);
      return {};
    }
    for (std::size_t i = 0; i < partials_.size(); ++i) {
      Status status = (*parts)[i].move_to(partials_[i].count());
      if (status) status = partials_[i].merge((*parts)[i]);
      if (!status) return status;
    }
    return {};
  }

  // Finishes rows that extend over several slabs.
  Status finish() {
    std::vector<Decision> placement;
    for (const Category category : request_.categories) {
      placement.push_back({category, "host", "its rows lie apart in a large file"});
    }
    for (const Partial& partial : partials_) {
      Statistics statistics(request_.categories, {});
      for (const Category category : request_.categories) statistics.values.push_back(partial.finish(category));
      listener_.row(next_index(), Shape(row_), {statistics, placement});
    }
    return {};
  }

  Shape next_index() { return *coordinates(next_row_++, rows_); }

  Meter& meter_;
  const Request& request_;
  TensorReader& reader_;
  const By by_;
  const RowListener& listener_;
  Shape rows_, row_;  // the shape of all rows, and of one
  std::vector<bool> kept_;
  std::size_t axis_ = 0;
  std::uint64_t length_ = 0, each_ = 0;  // length of the axis, and of a slab
  std::uint64_t index_elements_ = 1;     // elements in one index of the axis
  bool has_whole_rows_ = true;           // each row lies in one slab
  std::uint64_t next_row_ = 0;
  std::vector<Partial> partials_;
};

// Blocks of consecutive elements. A block ends with the row in which it begins, as the groups of quantizers do: with
// the last axis, or with the axes that are not kept.
class BlocksOfFile {
 public:
  BlocksOfFile(Meter& meter, const Request& request, TensorReader& reader, const By& by, const RowListener& listener)
      : meter_(meter), request_(request), reader_(reader), each_(by.block_elements), listener_(listener) {
    const std::size_t axes = by.shape.size();
    std::vector<std::int64_t> kept = by.axes;
    for (std::int64_t& axis : kept) axis += axis < 0 ? static_cast<std::int64_t>(axes) : 0;
    std::ranges::sort(kept);
    for (std::size_t i = 0; i < kept.size(); ++i) are_first_ &= kept[i] == static_cast<std::int64_t>(i) && i < axes;
    const std::size_t count = !kept.empty() ? std::min(kept.size(), axes) : axes == 0 ? 0 : axes - 1;
    rows_.assign(by.shape.begin(), by.shape.begin() + static_cast<std::ptrdiff_t>(count));
    for (const std::uint64_t length : rows_) row_count_ *= length;
    length_ = row_count_ == 0 ? 0 : reader.element_count() / row_count_;
    blocks_ = length_ / each_ + (length_ % each_ != 0 ? 1 : 0);
  }

  Status measure() {
    if (!are_first_) {
      return Error{Code::kInvalid, "the axes before a block are the first ones of the tensor, such as 0 or 0,1"};
    }
    if (blocks_ != 0 && row_count_ > kMostRows / blocks_) {
      return Error{Code::kInvalid,
                   "has more than " + std::to_string(kMostRows) + " blocks of " + std::to_string(each_) + " elements"};
    }
    if (length_ == 0) return {};
    reader_.rewind(TensorReader::Order::kC, TensorReader::View::kElements);
    const std::uint64_t room = kSlabBytes / size_bytes(reader_.dtype());
    if (length_ <= room) return measure_rows(room / length_);
    for (std::uint64_t row = 0; row < row_count_; ++row) {
      const std::uint64_t most = std::max(room / each_, std::uint64_t{1}) * each_;
      for (std::uint64_t first = 0; first < length_; first += most) {
        const std::uint64_t count = std::min(most, length_ - first);
        if (Status taken = take(count, 1, count); !taken) return taken;
      }
    }
    return {};
  }

 private:
  Status measure_rows(std::uint64_t most_rows) {
    for (std::uint64_t row = 0; row < row_count_; row += most_rows) {
      const std::uint64_t rows = std::min(most_rows, row_count_ - row);
      // Where blocks fill the rows, or are whole rows, one call measures all rows.
      const bool is_even = length_ % each_ == 0 || length_ <= each_;
      Status taken = is_even ? take(rows * length_, 1, rows * length_) : take(rows * length_, rows, length_);
      if (!taken) return taken;
    }
    return {};
  }

  // Reads `count` elements, and measures them in `parts` of `of_part` elements.
  Status take(std::uint64_t count, std::uint64_t parts, std::uint64_t of_part) {
    Slab slab(reader_.dtype(), count);
    if (Status filled = slab.fill(reader_, listener_); !filled) return filled;
    const By by{.shape = {of_part}, .block_elements = std::min(each_, length_)};
    for (std::uint64_t i = 0; i < parts; ++i) {
      const auto measured = meter_.measure_by(slab.part(i * of_part, of_part), by, request_);
      if (!measured) return slab.leave(measured.error());
      for (const Measurement each : *measured) {
        const std::uint64_t first = next_ % blocks_ * each_;
        Shape index = *coordinates(next_++ / blocks_, rows_);
        index.push_back(first);
        listener_.row(std::move(index), {std::min(each_, length_ - first)}, each);
      }
    }
    return {};
  }

  Meter& meter_;
  const Request& request_;
  TensorReader& reader_;
  const std::uint64_t each_;  // elements of a block
  const RowListener& listener_;
  bool are_first_ = true;
  Shape rows_;                                             // the kept axes
  std::uint64_t row_count_ = 1, length_ = 0, blocks_ = 0;  // elements and blocks of a row
  std::uint64_t next_ = 0;                                 // the number of the next block
};

}  // namespace

Status measure_rows(Meter& meter, const Request& request, TensorReader& reader, By by, const RowListener& listener) {
  by.shape = reader.shape();
  if (by.block_elements != 0) return BlocksOfFile(meter, request, reader, by, listener).measure();
  return RowsOfFile(meter, request, reader, std::move(by), listener).measure();
}

}  // namespace tensorstat
