// Common parts of the peers. A peer gets the same tensor, computes in one call what it offers, and is compared with the
// exact results.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "bench/contest.hpp"
#include "bench/data.hpp"

namespace tensorstat::bench {

// NaN means that the peer does not compute it.
struct Findings {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double max = kNone, min = kNone, avg = kNone, l2norm = kNone;
  double negatives = kNone, positives = kNone, zeros = kNone, nans = kNone;
  double infinities = kNone;  // of both signs
};

// The counters "avg_ulp" and "l2norm_ulp": the distance to the exact value, in units in the last place of a binary64.
// "statistics": how many of the ten statistics the peer computes. Throws if max, min or a count is wrong: such a peer
// does not measure the same.
Counters judge(const Tensor& tensor, const Findings& findings);

// A peer that returns its findings at each call.
Contestant peer(const Tensor& tensor, std::function<Findings()> call);

// MindSpore's findings, computed in MindSpore's way.
Findings mindspore(const Tensor& tensor);

// Each function enters its peer in `group` if the peer supports the dtype.
void enter_mindspore(const std::string& group, Dtype dtype, std::uint64_t bytes);
void enter_numpy(const std::string& group, Dtype dtype, std::uint64_t bytes);
// Two tensors, one after the other in memory.
void enter_numpy_pair(const std::string& group, Dtype dtype, double bytes,
                      std::function<std::span<const std::byte>()> both);
void enter_eigen(const std::string& group, Dtype dtype, std::uint64_t bytes);
void enter_opencv(const std::string& group, Dtype dtype, std::uint64_t bytes);
void enter_clblast(const std::string& group, Dtype dtype, std::uint64_t bytes);

}  // namespace tensorstat::bench
