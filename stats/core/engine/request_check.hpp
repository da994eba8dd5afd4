// Rejects invalid requests before any element is read. What cannot be checked cheaply is trusted: that an address is
// readable and that a handle is valid.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>

namespace tensorstat {

Status check(const Request& request);
Status check(const Tensor& tensor);
// Also an error if this dtype supports none of the categories.
Status check(const Request& request, Dtype dtype);
// Checks a whole request; the error names the tensor by its index.
Status check(std::span<const Tensor> tensors, const Request& request);

// Checks all pairs of a request; the error names the pair and the tensor.
Status check(std::span<const TensorPair> pairs, const PairRequest& request);

// An error for dtypes that cannot be compared element by element: packed and complex ones.
Status check_comparable(const Tensor& tensor);

// An error if the request has digests, for calls that return partials.
Status check_mergeable(const Request& request);

}  // namespace tensorstat
