// What makes no sense is refused before anything is read. What cannot be checked cheaply stays trusted: that an
// address can be read, and that a handle is one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <tensorstat/meter.hpp>

namespace tensorstat {

Status check(const Request& request);
Status check(const Tensor& tensor);
// And whether tensors of this dtype have anything of what it asks.
Status check(const Request& request, Dtype dtype);
// All of a request; the error names the tensor by its index.
Status check(std::span<const Tensor> tensors, const Request& request);

// All pairs of a request; the error names the pair and the tensor.
Status check(std::span<const TensorPair> pairs, const PairRequest& request);

// An error for what is not compared element by element: where several share a byte, or are complex.
Status check_comparable(const Tensor& tensor);

// An error where a request wants digests of what gives partials alone.
Status check_mergeable(const Request& request);

}  // namespace tensorstat
