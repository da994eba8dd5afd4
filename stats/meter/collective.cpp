#include <algorithm>
#include <limits>
#include <tensorstat/collective.hpp>
#include <utility>

#include "precision/partial.h"
#include "stats/base/caught.hpp"
#include "stats/base/fnv1a.hpp"
#include "stats/engine/accumulator_layout.hpp"

namespace tensorstat {
namespace {

// How a word of a partial travels.
enum class Travel : std::uint8_t { kMaximum, kSum, kCrc32, kXor64, kKey, kIndexOfKey, kNothing };

std::vector<Travel> travels_of(const Partial& partial) {
  std::vector<Travel> travels;
  for (const Accumulator& each : layout(partial.dtype()).all()) {
    if (each.first >= partial.words().size()) break;
    switch (each.rule) {
      case MergeRule::ADDITION:
        travels.insert(travels.end(), each.count, Travel::kSum);
        break;
      case MergeRule::MAXIMUM:
        travels.insert(travels.end(), each.count, Travel::kMaximum);
        break;
      case MergeRule::KEYED:
        travels.insert(travels.end(), {Travel::kKey, Travel::kIndexOfKey});
        break;
      case MergeRule::CHECKSUM:
        travels.push_back(!each.is_kept(partial.needs()) ? Travel::kNothing
                          : each.need == kCrc32          ? Travel::kCrc32
                                                         : Travel::kXor64);
        break;
    }
  }
  return travels;
}

bool travels_whole(const Partial& partial) {
  return partial.precision() == Precision::kLow || (needs({quantile(50'000)}, Precision::kHigh) & partial.needs()) != 0;
}

// The sum of these words over the ranks has each bit's parity. Two bits share a word, so that no sum of 2^31 ranks
// carries from one into the other.
void push_bits(std::vector<std::int64_t>& words, std::uint64_t value, int bits) {
  for (int bit = 0; bit < bits; bit += 2) {
    words.push_back(static_cast<std::int64_t>((value >> bit & 1) | (value >> (bit + 1) & 1) << 32));
  }
}

std::uint64_t take_bits(const std::int64_t*& words, int bits) {
  std::uint64_t value = 0;
  for (int bit = 0; bit < bits; bit += 2) {
    const auto word = static_cast<std::uint64_t>(*words++);
    value |= (word & 1) << bit | (word >> 32 & 1) << (bit + 1);
  }
  return value;
}

// Of the empty partials of the list: their written form names the dtype, the precision, the accumulators, the scale.
std::uint64_t key_of(std::span<const Partial> partials, std::string_view label) {
  std::uint64_t hash = fnv1a(kFnv1aOfNothing, std::as_bytes(std::span(label)));
  for (const Partial& each : partials) {
    const Partial empty(each.dtype(), each.precision(), each.needs(), each.cast_scale());
    hash = fnv1a(hash, empty.serialize());
  }
  return fnv1a(hash, std::as_bytes(std::span(&hash, 1)));
}

}  // namespace

Result<Collective> Collective::of(std::span<const Partial> partials, std::uint32_t rank, std::string_view label) try {
  if (rank >= std::uint32_t{1} << 31) return Error{Code::kInvalid, "a rank of 2^31 or more"};
  Collective all;
  all.rank_ = rank;
  all.partials_.assign(partials.begin(), partials.end());
  all.gathered_.resize(partials.size());
  all.key_ = static_cast<std::int64_t>(key_of(partials, label));
  all.agreement_ = {all.key_, ~all.key_, 0};
  all.sums_.push_back(1);  // the number of ranks
  for (Partial& partial : all.partials_) {
    if (travels_whole(partial)) {
      all.gathers_ = true;
      continue;
    }
    carry(partial.dtype(), partial.words());
    const std::vector<Travel> travels = travels_of(partial);
    for (std::size_t i = 0; i < travels.size(); ++i) {
      const std::int64_t word = partial.words()[i];
      switch (travels[i]) {
        case Travel::kMaximum:
          all.largest_.push_back(word);
          break;
        case Travel::kSum:
          all.sums_.push_back(word);
          break;
        case Travel::kCrc32:
          push_bits(all.sums_, static_cast<std::uint64_t>(word), 32);
          break;
        case Travel::kXor64:
          push_bits(all.sums_, static_cast<std::uint64_t>(word), 64);
          break;
        case Travel::kKey:
          all.largest_.push_back(word);
          all.own_keys_.push_back({all.largest_.size() - 1, word, partial.words()[i + 1]});
          break;
        case Travel::kIndexOfKey:
        case Travel::kNothing:
          break;
      }
    }
    all.largest_.push_back(static_cast<std::int64_t>(partial.count()));
  }
  return all;
} catch (...) {
  return caught();
}

Collective Collective::failed(std::uint32_t rank, Error error) {
  Collective all;
  all.rank_ = rank;
  all.error_ = std::move(error);
  all.agreement_ = {kEmptyMaximum, kEmptyMaximum, std::int64_t{rank} + 1};
  return all;
}

Status Collective::agree() const {
  if (error_) return *error_;
  if (agreement_[2] != 0) {
    return Error{Code::kInvalid, "rank " + std::to_string(agreement_[2] - 1) +
                                     " failed before the partials were merged, so no rank has a result; its own error "
                                     "says why"};
  }
  if (agreement_[0] == key_ && agreement_[1] == ~key_) return {};
  return Error{Code::kInvalid,
               "the ranks do not merge the same list of partials: number, dtype, precision, statistics and cast scale "
               "must agree on every rank"};
}

std::span<std::int64_t> Collective::indices() {
  for (const OwnKey& own : own_keys_) indices_.push_back(own.key == largest_[own.at] ? own.index : kEmptyMaximum);
  return indices_;
}

std::vector<std::byte> Collective::to_gather() const {
  std::vector<std::byte> bytes;
  for (const Partial& partial : partials_) {
    if (!travels_whole(partial)) continue;
    const std::vector<std::byte> written = partial.serialize();
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(written.size() >> (8 * i)));
    bytes.insert(bytes.end(), written.begin(), written.end());
  }
  return bytes;
}

Status Collective::add_gathered(std::span<const std::byte> bytes) try {
  const auto refuse = [] { return Error{Code::kInvalid, "what was gathered of a rank is no list of partials"}; };
  for (std::size_t i = 0; i < partials_.size(); ++i) {
    if (!travels_whole(partials_[i])) continue;
    if (bytes.size() < 8) return refuse();
    std::uint64_t size = 0;
    for (int at = 0; at < 8; ++at) size |= std::uint64_t(bytes[static_cast<std::size_t>(at)]) << (8 * at);
    bytes = bytes.subspan(8);
    if (size > bytes.size()) return refuse();
    auto partial = Partial::parse(bytes.first(size));
    if (!partial) return std::move(partial).error();
    bytes = bytes.subspan(size);
    if (!gathered_[i]) {
      gathered_[i] = *std::move(partial);
    } else if (Status merged = gathered_[i]->merge(*partial); !merged) {
      return merged;
    }
  }
  return bytes.empty() ? Status() : refuse();
} catch (...) {
  return caught();
}

Result<std::vector<Partial>> Collective::finish() && try {
  if (error_) return *error_;
  const std::int64_t* largest = largest_.data();
  const std::int64_t* sums = sums_.data();
  const std::int64_t* indices = indices_.data();
  const std::int64_t ranks = *sums++;
  for (std::size_t p = 0; p < partials_.size(); ++p) {
    Partial& partial = partials_[p];
    if (travels_whole(partial)) {
      if (!gathered_[p]) return Error{Code::kInvalid, "add_gathered() was not called"};
      partial = *std::move(gathered_[p]);
      continue;
    }
    const std::vector<Travel> travels = travels_of(partial);
    const std::span<std::int64_t> words = partial.words();
    for (std::size_t i = 0; i < travels.size(); ++i) {
      switch (travels[i]) {
        case Travel::kMaximum:
          words[i] = *largest++;
          break;
        case Travel::kSum:
          words[i] = *sums++;
          break;
        case Travel::kCrc32:
          words[i] = static_cast<std::int64_t>(take_bits(sums, 32));
          break;
        case Travel::kXor64:
          words[i] = static_cast<std::int64_t>(take_bits(sums, 64));
          break;
        case Travel::kKey:
          words[i] = *largest++;
          break;
        case Travel::kIndexOfKey:
          if (indices_.empty()) return Error{Code::kInvalid, "indices() was not reduced"};
          words[i] = *indices++;
          break;
        case Travel::kNothing:
          break;
      }
    }
    if (const std::int64_t most = *largest++; most > std::numeric_limits<std::int64_t>::max() / ranks) {
      return Error{Code::kInvalid, "cannot merge: the ranks together may have 2^63 elements or more of a tensor"};
    }
    carry(partial.dtype(), words);
  }
  return std::move(partials_);
} catch (...) {
  return caught();
}

}  // namespace tensorstat
