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
  // Chooses the slabs. They are cut along the first axis that is longer than 1. For blocks the tensor counts as one
  // axis of all elements.
  void cut() {
    const std::uint64_t room = kSlabBytes / size_bytes(reader_.dtype()), elements = reader_.element_count();
    if (by_.block_elements != 0) {
      length_ = elements;
      each_ = std::max(room / by_.block_elements, std::uint64_t{1}) * by_.block_elements;
      return;
    }
    while (axis_ + 1 < by_.shape.size() && by_.shape[axis_] == 1) ++axis_;
    length_ = by_.shape.empty() ? 1 : by_.shape[axis_];
    index_elements_ = length_ == 0 ? 0 : elements / length_;
    each_ =
        index_elements_ == 0 ? std::max(length_, std::uint64_t{1}) : std::max(room / index_elements_, std::uint64_t{1});
    has_whole_rows_ = each_ >= length_ || kept_[axis_];
  }

  // Measures a slab of `count` indices of the axis, as a tensor of its own.
  Status take(std::uint64_t count) {
    auto bits = std::make_unique_for_overwrite<std::byte[]>(count * index_elements_ * size_bytes(reader_.dtype()));
    const Tensor slab{.dtype = reader_.dtype(), .element_count = count * index_elements_, .address = bits.get()};
    for (std::span room(bits.get(), slab.bytes()); !room.empty();) {
      const auto got = reader_.read(room.first(std::min(room.size(), std::size_t{1} << 20)));
      if (!got) return got.error();
      room = room.subspan(*got);
      listener_.read(*got);
    }
    By by = by_;
    if (by.block_elements != 0) {
      by.shape = {count};
    } else if (!by.shape.empty()) {
      by.shape[axis_] = count;
    }
    Status status = has_whole_rows_ ? measure_slab(slab, by) : fold_slab(slab, by);
    if (!status && status.error().code == Code::kInUse) {
      abandon(std::make_unique<std::unique_ptr<std::byte[]>>(std::move(bits)));
    }
    return status;
  }

  Status measure_slab(const Tensor& slab, const By& by) {
    const auto measured = meter_.measure_by(slab, by, request_);
    if (!measured) return measured.error();
    for (const Measurement each : *measured) {
      Shape row = row_;
      if (by.block_elements != 0) {
        const std::uint64_t first = next_row_ * by.block_elements;
        row = {std::min(by.block_elements, reader_.element_count() - first)};
      }
      listener_.row(next_index(), std::move(row), each);
    }
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
  Shape rows_, row_;  // the shape of all rows, and of one row that is no block
  std::vector<bool> kept_;
  std::size_t axis_ = 0;
  std::uint64_t length_ = 0, each_ = 0;  // length of the axis, and of a slab
  std::uint64_t index_elements_ = 1;     // elements in one index of the axis
  bool has_whole_rows_ = true;           // each row lies in one slab
  std::uint64_t next_row_ = 0;
  std::vector<Partial> partials_;
};

}  // namespace

Status measure_rows(Meter& meter, const Request& request, TensorReader& reader, By by, const RowListener& listener) {
  by.shape = reader.shape();
  return RowsOfFile(meter, request, reader, std::move(by), listener).measure();
}

}  // namespace tensorstat
