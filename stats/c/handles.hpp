// What stands behind the handles of <tensorstat/tensorstat.h> that several of its files make.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/c/support.hpp"

struct tensorstat_meter {
  tensorstat::Meter meter;
};

struct tensorstat_result {
  tensorstat::Measurements measurements;
  tensorstat::Categories categories;
  // The tensors' one after another. There is room for them from the beginning, and those of a tensor are written when
  // they are first asked for, by whichever thread: many a batch is looked at in part.
  std::unique_ptr<tensorstat_value[]> values;
  std::unique_ptr<std::atomic<bool>[]> is_written;  // of a tensor
  mutable std::mutex writing{};
};

struct tensorstat_partial {
  tensorstat::Partial partial;
  // Its exponents, to which values that were given out point: made when they are first asked for, by whichever thread,
  // and when they are asked for again after a change.
  mutable std::mutex making{};
  mutable tensorstat::Value list{};
  mutable bool is_list_current = false;
};

namespace tensorstat::c {

// A new handle, or the error. May throw.
tensorstat_code give(Result<Measurements> measured, Categories categories, tensorstat_result** result);
// A handle for each, or none at all. May throw.
tensorstat_code give(Result<std::vector<Partial>> folded, tensorstat_partial** partials);

// Two lists of tensors of C as pairs of C++.
class Pairs {
 public:
  Status take(const tensorstat_tensor* a, const tensorstat_tensor* b, std::size_t pair_count);
  std::span<const TensorPair> all() const { return all_; }

 private:
  Tensors a_, b_;
  std::vector<TensorPair> all_;
};

Result<PairRequest> pair_request_of(const tensorstat_pair_request* given);
// A handle for each, or none at all. May throw.
tensorstat_code give(Result<std::vector<PairPartial>> compared, tensorstat_pair** pairs);

}  // namespace tensorstat::c
