// The handles of <tensorstat/core.h> that several source files use.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/bindings/c/support.hpp"

struct tensorstat_meter {
  tensorstat::Meter meter;
};

struct tensorstat_result {
  tensorstat::Measurements measurements;
  tensorstat::Categories categories;
  // A tensor's values are converted when a thread first asks for them, because many callers read only some tensors of a
  // batch. They are written over the values in `measurements`. With lists, they are written here, because they point to
  // those values.
  std::unique_ptr<tensorstat_value[]> values;
  std::unique_ptr<std::atomic<bool>[]> is_written;  // one for each tensor
  mutable std::mutex writing{};
};

struct tensorstat_partial {
  tensorstat::Partial partial;
  // Its exponents; values of the caller point to them. Made when a thread first asks for them, and again when asked
  // after a change.
  mutable std::mutex making{};
  mutable tensorstat::Value list{};
  mutable bool is_list_current = false;
};

namespace tensorstat::c {

// Makes a handle, or returns the error. May throw.
tensorstat_code give(Result<Measurements> measured, Categories categories, tensorstat_result** result);
// Makes a handle for each, or none if there is an error. May throw.
tensorstat_code give(Result<std::vector<Partial>> folded, tensorstat_partial** partials);

// Converts two lists of C tensors to C++ pairs.
class Pairs {
 public:
  Status take(const tensorstat_tensor* a, const tensorstat_tensor* b, std::size_t pair_count);
  std::span<const TensorPair> all() const { return all_; }

 private:
  Tensors a_, b_;
  std::vector<TensorPair> all_;
};

Result<PairRequest> pair_request_of(const tensorstat_pair_request* given);
// Makes a handle for each, or none if there is an error. May throw.
tensorstat_code give(Result<std::vector<PairPartial>> compared, tensorstat_pair** pairs);

}  // namespace tensorstat::c
