#include "stats/core/engine/request_check.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/cast_bounds.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

bool strides_agree(const Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  if (is_packed(tensor.dtype)) return false;
  if (!is_readable_by_cpu(tensor.where) || tensor.strides->shape.size() != tensor.strides->bytes.size()) return false;
  const auto elements = element_count(tensor.strides->shape, size_bytes(tensor.dtype));
  return elements && *elements == tensor.element_count;
}

// Whether the addresses of all elements of a strided tensor lie in the address space.
bool lies_in_memory(const Tensor& tensor) {
  if (tensor.strides == nullptr || tensor.element_count == 0) return true;
  std::int64_t before = 0, behind = size_bytes(tensor.dtype);  // bytes from the first element
  for (std::size_t i = 0; i < tensor.strides->shape.size(); ++i) {
    const auto steps = static_cast<std::int64_t>(tensor.strides->shape[i] - 1);
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(steps, tensor.strides->bytes[i], &reach)) return false;
    std::int64_t& side = reach < 0 ? before : behind;
    if (__builtin_add_overflow(side, reach, &side)) return false;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.address);
  return std::uint64_t{0} - static_cast<std::uint64_t>(before) <= address &&
         static_cast<std::uint64_t>(behind) <= UINTPTR_MAX - address;
}

bool sound(const Tensor& tensor) {
  return static_cast<int>(tensor.dtype) < kDtypeCount && (tensor.address != nullptr || tensor.element_count == 0) &&
         tensor.element_count <= kMostBytes / size_bytes(tensor.dtype) && strides_agree(tensor) &&
         lies_in_memory(tensor);
}

// The error for an invalid tensor.
Error fault(const Tensor& tensor) {
  if (static_cast<int>(tensor.dtype) >= kDtypeCount) return {Code::kInvalid, "its dtype is unknown"};
  const std::string elements = std::to_string(tensor.element_count) + " elements";
  if (tensor.element_count > kMostBytes / size_bytes(tensor.dtype)) {
    return {Code::kInvalid, elements + " of " + std::string(name(tensor.dtype)) + " exceed 2^63-1 bytes"};
  }
  if (tensor.address == nullptr && tensor.element_count != 0) {
    return {Code::kInvalid, "its address is null, and it has " + elements};
  }
  if (is_packed(tensor.dtype)) {
    return {Code::kUnsupported, "it has strides, and is of " + std::string(name(tensor.dtype)) +
                                    ", where several elements share a byte: copy it, so that they follow each other"};
  }
  const Strides& strides = *tensor.strides;
  if (!is_readable_by_cpu(tensor.where)) {
    return {Code::kUnsupported,
            std::string("it has strides and is in ") +
                (tensor.where == Where::kClBuffer ? "a cl_mem" : "a GPU's memory") +
                ": strides are supported only in host memory. Copy it, so that its elements follow each other"};
  }
  if (strides.shape.size() != strides.bytes.size()) {
    return {Code::kInvalid, "it has strides for " + std::to_string(strides.bytes.size()) + " dimensions, and " +
                                std::to_string(strides.shape.size()) + " dimensions"};
  }
  if (strides_agree(tensor)) {
    return {Code::kInvalid, "its strides of " + to_string(strides.shape) + " lead to elements beyond all memory"};
  }
  return {Code::kInvalid, "the shape of its strides, " + to_string(strides.shape) + ", does not hold its " + elements};
}

}  // namespace

Status check(const Request& request) {
  if (!is_cast_scale(request.cast_scale))
    return Error{Code::kInvalid, "the cast scale must be a finite number above 0"};
  if (!request.categories.empty()) return {};
  return Error{Code::kInvalid, "the request names no category: there is nothing to measure"};
}

Status check(const Tensor& tensor) {
  if (sound(tensor)) return {};
  return fault(tensor);
}

Status check(const Request& request, Dtype dtype) {
  if (Status status = check(request); !status) return status;
  const auto has_it = [dtype](Category category) { return has(dtype, category); };
  if (std::ranges::any_of(request.categories, has_it)) return {};
  Categories known = every_category();
  std::erase_if(known, std::not_fn(has_it));
  const auto listed = [](const Categories& categories) {
    std::string names;
    for (const Category each : categories) names.append(names.empty() ? "" : ", ").append(name(each));
    return names;
  };
  return Error{Code::kUnsupported, "a " + std::string(name(dtype)) + " tensor has no " + listed(request.categories) +
                                       "; it has " + listed(known)};
}

Status check(std::span<const Tensor> tensors, const Request& request) {
  const auto named = [&](const Tensor& tensor, const Error& error) {
    return Error{error.code, "tensor " + std::to_string(&tensor - tensors.data()) + ": " + error.message};
  };
  bool any_complex = false;
  for (const Tensor& tensor : tensors) {
    if (!sound(tensor)) return named(tensor, fault(tensor));
    any_complex |= is_complex(tensor.dtype);
  }
  if (Status status = check(request); !status || !any_complex) return status;
  for (const Tensor& tensor : tensors) {
    if (Status status = check(request, tensor.dtype); !status) return named(tensor, status.error());
  }
  return {};
}

Status check_comparable(const Tensor& tensor) {
  if (is_complex(tensor.dtype)) {
    return Error{Code::kUnsupported,
                 std::string(name(tensor.dtype)) +
                     " cannot be compared with another tensor: name its parts as another dimension of 2, of " +
                     std::string(name(part_of(tensor.dtype)))};
  }
  if (!is_packed(tensor.dtype)) return {};
  return Error{Code::kUnsupported, std::string(name(tensor.dtype)) + " is packed, " +
                                       std::to_string(elements_a_byte(tensor.dtype)) +
                                       " a byte, and cannot be compared with another tensor: widen it first"};
}

Status check_mergeable(const Request& request) {
  for (const Category category : request.categories) {
    if ((needs(category) & kDigests) == 0) continue;
    return Error{Code::kUnsupported,
                 std::string(name(category)) +
                     " is a digest, which cannot be merged: leave it out, or measure the whole tensor"};
  }
  return {};
}

}  // namespace tensorstat
