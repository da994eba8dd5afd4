#include <algorithm>
#include <string>
#include <tensorstat/meter.hpp>
#include <utility>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/measured.hpp"
#include "stats/core/engine/quantile_bins.hpp"
#include "stats/core/engine/quantile_codes.hpp"
#include "stats/core/engine/request_check.hpp"
#include "stats/core/meter/meter_state.hpp"
#include "stats/core/meter/request_batch.hpp"
#include "stats/core/meter/row_plan.hpp"
#include "stats/core/meter/tensor/host_window.hpp"

namespace tensorstat {
namespace {

// The rows of a tensor: a view of each row; or columns of matrices, which the host folds side by side; or slices in a
// GPU's memory, several to a window.
struct Rows {
  RowPlan plan{};
  bool are_columns = false;
  std::uint64_t elements_a_slice = 0;  // 0: the rows are not such slices
  Strides strides{};                   // of every view, unless the views are contiguous
  std::vector<Tensor> tensors{};
};

Tensor part(const Tensor& whole, std::uint64_t first_element, std::uint64_t count) {
  Tensor tensor = whole;
  tensor.offset_bytes += bytes_of(whole.dtype, first_element);
  tensor.element_count = count;
  return tensor;
}

// Contiguous slices of `each` elements. The last may be shorter.
std::vector<Tensor> slices(const Tensor& tensor, std::uint64_t rows, std::uint64_t each) {
  std::vector<Tensor> all;
  all.reserve(rows);
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t first = i * each;
    all.push_back(part(tensor, first, std::min(each, tensor.element_count - first)));
  }
  return all;
}

std::vector<std::int64_t> strides_of(const Tensor& tensor, const Shape& shape) {
  if (tensor.strides != nullptr) return tensor.strides->bytes;
  std::vector<std::int64_t> bytes(shape.size());
  std::int64_t step = size_bytes(tensor.dtype);
  for (std::size_t axis = shape.size(); axis-- != 0;) {
    bytes[axis] = step;
    step *= static_cast<std::int64_t>(shape[axis]);
  }
  return bytes;
}

// Makes a strided view for each row. The tensor must not be empty.
void fill_views(const Tensor& tensor, const By& by, Rows& rows) {
  const std::vector<std::int64_t> bytes = strides_of(tensor, by.shape);
  std::vector<std::int64_t> outer_bytes;
  for (std::size_t axis = 0; axis < by.shape.size(); ++axis) {
    if (!rows.plan.kept[axis]) rows.strides.shape.push_back(by.shape[axis]);
    (rows.plan.kept[axis] ? outer_bytes : rows.strides.bytes).push_back(bytes[axis]);
  }
  rows.tensors.reserve(rows.plan.rows);
  for (std::uint64_t i = 0; i < rows.plan.rows; ++i) {
    std::int64_t offset = 0;
    std::uint64_t left = i;
    for (std::size_t axis = outer_bytes.size(); axis-- != 0; left /= rows.plan.shape[axis]) {
      offset += static_cast<std::int64_t>(left % rows.plan.shape[axis]) * outer_bytes[axis];
    }
    Tensor row = part(tensor, 0, tensor.element_count / rows.plan.rows);
    row.offset_bytes += static_cast<std::uint64_t>(offset);
    row.strides = &rows.strides;
    rows.tensors.push_back(row);
  }
}

Status check_by(const Tensor& tensor, const By& by) {
  if (Status status = check(tensor); !status) return status;
  const auto count = element_count(by.shape, size_bytes(tensor.dtype));
  if (!count) return count.error();
  if (*count != tensor.element_count || (tensor.strides != nullptr && tensor.strides->shape != by.shape)) {
    return Error{Code::kInvalid, "the shape " + to_string(by.shape) + " does not fit the tensor, which has " +
                                     std::to_string(tensor.element_count) + " elements"};
  }
  return {};
}

// Makes a view for each row, contiguous or strided, unless several rows come in a window.
Status fill(const Tensor& tensor, const By& by, On on, Rows& rows) {
  if (by.block_elements != 0 && tensor.strides != nullptr) {
    return Error{Code::kUnsupported, "blocks need a contiguous tensor, and this one has strides: copy it first"};
  }
  const std::uint64_t count = rows.plan.rows, in_a_byte = elements_a_byte(tensor.dtype);
  const std::uint64_t each = by.block_elements != 0 ? by.block_elements : count == 0 ? 0 : tensor.element_count / count;
  const bool is_sliced =
      by.block_elements != 0 || tensor.element_count == 0 || (tensor.strides == nullptr && rows.plan.is_sliced());
  if (in_a_byte != 1 && !(is_sliced && (count <= 1 || each % in_a_byte == 0))) {
    return Error{Code::kUnsupported, std::string(name(tensor.dtype)) + " is packed, " + std::to_string(in_a_byte) +
                                         " a byte, and these rows do not begin and end with bytes: widen it first"};
  }
  const bool share_a_window = count > 1 && bytes_of(tensor.dtype, each) <= HostWindow::kBytes;
  if (is_sliced && share_a_window && is_in_gpu_memory(tensor.where) && tensor.element_count != 0 && on != On::kDevice) {
    rows.elements_a_slice = each;
  } else if (is_sliced) {
    rows.tensors = slices(tensor, count, each);
  } else if (!is_readable_by_cpu(tensor.where)) {
    return Error{Code::kUnsupported,
                 "the tensor is in device memory, where only the first axes can be kept: read it with "
                 "Meter::read first"};
  } else {
    fill_views(tensor, by, rows);
  }
  return {};
}

// Fills `rows`. Its tensors point into it, so it must not move.
Status find_rows(const Tensor& tensor, const By& by, const Request& request, Rows& rows) {
  if (Status status = check_by(tensor, by); !status) return status;
  auto plan = row_plan(by);
  if (!plan) return plan.error();
  rows.plan = *std::move(plan);
  const bool is_here = is_readable_by_cpu(tensor.where) && tensor.strides == nullptr && request.on != On::kDevice;
  rows.are_columns = is_here && rows.plan.has_columns() && tensor.element_count != 0 && !is_packed(tensor.dtype) &&
                     std::ranges::none_of(request.categories, [](Category category) {
                       return is_digest(category) || is_quantile(category);
                     });
  return rows.are_columns ? check(request, tensor.dtype) : fill(tensor, by, request.on, rows);
}

// An error if the partials of all rows may exceed kMostBinBytes for quantiles.
Status check_bins(const Tensor& tensor, const RowPlan& plan, const Request& request) {
  if (std::ranges::none_of(request.categories, is_quantile) || plan.rows == 0) return {};
  const std::uint64_t in_a_row = (tensor.element_count + plan.rows - 1) / plan.rows;
  const std::uint64_t bytes = sizeof(BinCount) * std::min<std::uint64_t>(in_a_row, places_of(tensor.dtype).last + 1);
  if (bytes <= kMostBinBytes / plan.rows) return {};
  return Error{Code::kInvalid, "partials of " + std::to_string(plan.rows) + " rows may keep " + std::to_string(bytes) +
                                   " bytes each for quantiles, and more than " + std::to_string(kMostBinBytes) +
                                   " together: measure them, which keeps none, or fold fewer rows"};
}

Partial empty_partial(Dtype dtype, const Request& request) {
  return {dtype, request.precision, needs(request.categories, request.precision), request.cast_scale};
}

// The tensor is a sequence of matrices. The last group of axes is a matrix's columns, the group before it its lines.
std::vector<Partial> fold_columns(HostEngine& host, const Tensor& tensor, const RowPlan& plan, const Request& request) {
  std::vector<Partial> rows(plan.rows, empty_partial(tensor.dtype, request));
  const std::byte* matrix = tensor.data();
  const std::uint64_t columns = plan.groups.back().length, lines = plan.groups[plan.groups.size() - 2].length;
  const std::uint64_t bytes = lines * columns * size_bytes(tensor.dtype);
  const std::uint64_t matrices = tensor.bytes() / bytes;
  for (std::uint64_t i = 0; i < matrices; ++i, matrix += bytes) {
    // The indices in the kept outer axes tell the rows to which this matrix's columns belong.
    std::uint64_t row = 0, step = columns, left = i;
    for (std::size_t group = plan.groups.size() - 2; group-- != 0; left /= plan.groups[group].length) {
      if (!plan.groups[group].is_kept) continue;
      row += left % plan.groups[group].length * step;
      step *= plan.groups[group].length;
    }
    host.fold_columns(matrix, lines, std::span(rows).subspan(row, columns));
  }
  return rows;
}

// Measures slices in a GPU's memory, as many at a time as a window holds: a copy of each would take longer than most.
Status pass_windows(Meter::State& meter, const Tensor& tensor, const Rows& rows, Request request,
                    const RequestBatch::Put& put) {
  if (Status status = check(request, tensor.dtype); !status) return status;
  request.on = On::kHost;
  const Wanted wanted = wanted_by(request);
  HostWindow window(meter);
  const std::uint64_t each = rows.elements_a_slice, at_once = elements_of(tensor.dtype, HostWindow::kBytes) / each;
  for (std::uint64_t row = 0; row < rows.plan.rows; row += at_once) {
    const std::uint64_t first = row * each;
    const auto part = window.part(tensor, first, std::min(at_once * each, tensor.element_count - first));
    if (!part) return part.error();
    const std::vector<Tensor> some = slices(*part, std::min(at_once, rows.plan.rows - row), each);
    RequestBatch batch(
        meter, some, request, wanted,
        [&](std::size_t i, const TensorResult& outcome, const Wanted& selection) { put(row + i, outcome, selection); });
    if (Status status = batch.run(); !status) return status;
  }
  return {};
}

}  // namespace

Result<Measurements> Meter::measure_by(const Tensor& tensor, const By& by, const Request& request) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  Rows rows;
  if (Status status = find_rows(tensor, by, request, rows); !status) return std::move(status).error();
  if (!rows.are_columns && rows.elements_a_slice == 0) return measure(rows.tensors, request);
  const Wanted wanted = wanted_by(request);
  auto results = Measurements::State::make(request.categories, wanted.needs, rows.plan.rows);
  if (!rows.are_columns) {
    const auto put = [&](std::size_t i, const TensorResult& outcome, const Wanted& selection) {
      results->put(i, tensor.dtype, outcome, selection);
    };
    if (Status status = pass_windows(*state_, tensor, rows, request, put); !status) return std::move(status).error();
    results->set_placement(state_->placed({false, why_gpu_memory_on_host(tensor.where)}));
    return Measurements(std::move(results));
  }
  const std::vector<Partial> partials = fold_columns(*state_->host, tensor, rows.plan, request);
  for (std::size_t i = 0; i < partials.size(); ++i) {
    results->put(i, tensor.dtype, {.words = partials[i].words()}, wanted);
  }
  results->set_placement(state_->placed({false, "its columns are folded beside each other"}));
  return Measurements(std::move(results));
} catch (...) {
  return caught();
}

Result<std::vector<Partial>> Meter::fold_by(const Tensor& tensor, const By& by, const Request& request) try {
  const FloatEnvironment ieee;
  if (!state_) return out_of_memory();
  Rows rows;
  if (Status status = find_rows(tensor, by, request, rows); !status) return std::move(status).error();
  if (Status status = check_bins(tensor, rows.plan, request); !status) return std::move(status).error();
  if (!rows.are_columns && rows.elements_a_slice == 0) return fold(rows.tensors, request);
  if (rows.are_columns) return fold_columns(*state_->host, tensor, rows.plan, request);
  if (Status status = check_mergeable(request); !status) return std::move(status).error();
  std::vector<Partial> partials(rows.plan.rows, empty_partial(tensor.dtype, request));
  const auto put = [&](std::size_t i, const TensorResult& outcome, const Wanted&) {
    merge(partials[i].bins(), outcome.bins);
    merge(tensor.dtype, partials[i].words(), outcome.words);
  };
  if (Status status = pass_windows(*state_, tensor, rows, request, put); !status) return std::move(status).error();
  return partials;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
