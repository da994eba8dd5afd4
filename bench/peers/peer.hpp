// What the peers have in common: the same tensor, one call that computes what the peer offers, and
// how far its results are from the exact ones.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "bench/contest.hpp"
#include "bench/data.hpp"

namespace tensorstat::bench {

// NaN stands for what a peer does not compute.
struct Findings {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double max = kNone, min = kNone, avg = kNone, l2norm = kNone;
  double negatives = kNone, positives = kNone, zeros = kNone, nans = kNone;
  double infinities = kNone;  // of both signs
};

// Counters "avg_ulp" and "l2norm_ulp": how many units in the last place of a binary64 a finding is
// from the exact value; "statistics": how many of our ten the peer computes in its call. Throws
// where its max, min or a count is wrong: then it does not measure the same.
Counters judge(const Tensor& tensor, const Findings& found);

// A peer whose call returns its findings.
Contestant peer(const Tensor& tensor, std::function<Findings()> call);

// What MindSpore finds, in its own way.
Findings mindspore(const Tensor& tensor);

// Each enters its peer under `group` where it can take the dtype.
void enter_mindspore(const std::string& group, Dtype dtype, std::uint64_t bytes);
void enter_numpy(const std::string& group, Dtype dtype, std::uint64_t bytes);
// Two tensors that lie one behind the other.
void enter_numpy_pair(const std::string& group, Dtype dtype, double bytes,
                      std::function<std::span<const std::byte>()> both);
void enter_eigen(const std::string& group, Dtype dtype, std::uint64_t bytes);
void enter_opencv(const std::string& group, Dtype dtype, std::uint64_t bytes);
void enter_clblast(const std::string& group, Dtype dtype, std::uint64_t bytes);

}  // namespace tensorstat::bench
