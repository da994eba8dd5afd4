#include <algorithm>
#include <bit>
#include <limits>
#include <tensorstat/collective.hpp>
#include <utility>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/fnv1a.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/core/meter/collective_kind.hpp"

namespace tensorstat {
namespace {

using Words = std::vector<std::int64_t>;

// The first words of round 1.
enum : std::size_t { kKey, kNotKey, kFailed, kAgreementWords };
// The words of a round after a disagreement, by MAX: a rank that has the greatest key, one that has the least, and how
// many partials each of them has. Then the message of the rank that failed.
enum : std::size_t { kRankOfGreatest, kRankOfLeast, kCountOfGreatest, kCountOfLeast, kMessage };

// A text, or the written form of a partial, in words: its length, then eight bytes a word.
constexpr std::size_t words_of_bytes(std::size_t bytes) { return 1 + (bytes + 7) / 8; }
void put_bytes(std::span<std::int64_t> words, std::span<const std::byte> bytes) {
  std::ranges::fill(words, 0);
  words[0] = static_cast<std::int64_t>(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    words[1 + i / 8] |= static_cast<std::int64_t>(std::to_integer<std::uint64_t>(bytes[i]) << (8 * (i % 8)));
  }
}
std::optional<std::vector<std::byte>> take_bytes(std::span<const std::int64_t>& words) {
  if (words.empty() || words[0] < 0 || static_cast<std::uint64_t>(words[0]) / 8 >= words.size()) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(words[0]));
  if (words.size() < words_of_bytes(bytes.size())) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(words[1 + i / 8] >> (8 * (i % 8)));
  }
  words = words.subspan(words_of_bytes(bytes.size()));
  return bytes;
}

Status rank_exists(std::uint32_t rank, std::uint32_t ranks) {
  if (rank < ranks && ranks < std::uint32_t{1} << 31) return {};
  return Error{Code::kInvalid, "rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                                   " does not exist: ranks are 0, 1, ..., at most 2^31 - 1 of them"};
}

}  // namespace

std::size_t Collective::kind_of(const Partial& partial) {
  // Partials of one kind follow each other.
  if (!list_.empty() && kinds_[list_.back()].is_of(partial)) return list_.back();
  const auto kind = std::ranges::find_if(kinds_, [&](const Kind& each) { return each.is_of(partial); });
  if (kind != kinds_.end()) return static_cast<std::size_t>(kind - kinds_.begin());
  kinds_.emplace_back(partial, bits_a_word_);
  return kinds_.size() - 1;
}

Collective::Collective(std::uint32_t rank, std::uint32_t ranks)
    : rank_(rank),
      ranks_(ranks),
      bits_a_word_(63 / std::bit_width(ranks | 1)),
      unagreed_(kAgreementWords),
      agreed_words_(kAgreementWords) {
  if (Status exists = rank_exists(rank_, ranks_); !exists) error_ = std::move(exists).error();
}

Collective::~Collective() = default;
Collective::Collective(const Collective&) = default;
Collective::Collective(Collective&&) noexcept = default;
Collective& Collective::operator=(const Collective&) = default;
Collective& Collective::operator=(Collective&&) noexcept = default;

void Collective::begin(std::span<const Partial> partials, std::string_view label) try {
  const FloatEnvironment ieee;
  error_.reset();
  fill(partials, label);
  stage_ = Stage::kBegun;
} catch (...) {
  begin(caught());
}

void Collective::begin(Error error) {
  const FloatEnvironment ieee;
  error_ = std::move(error);
  key_ = kEmptyMaximum;
  stage_ = Stage::kBegun;
}

void Collective::fill(std::span<const Partial> partials, std::string_view label) {
  if (Status exists = rank_exists(rank_, ranks_); !exists) return begin(std::move(exists).error());
  list_.clear();
  std::uint64_t key = fnv1a(kFnv1aOfNothing, std::as_bytes(std::span(label)));
  key = fnv1a(key, std::as_bytes(std::span(&ranks_, 1)));
  std::size_t largest = kAgreementWords, sums = 0;
  own_keys_.clear();
  own_whole_.clear();
  for (const Partial& partial : partials) {
    list_.push_back(kind_of(partial));
    const Kind& kind = kinds_[list_.back()];
    key = kind.added_to(key);
    largest += kind.largest_words;
    sums += kind.sum_words;
  }
  // Every word of both is written below, or by fill_agreement().
  largest_.resize(largest + partials.size());
  sums_.resize(sums);
  PackedWords to{largest_.data() + kAgreementWords, sums_.data(), nullptr};
  for (std::size_t i = 0; i < partials.size(); ++i) {
    const Kind& kind = kinds_[list_[i]];
    largest_[largest + i] = static_cast<std::int64_t>(partials[i].count());
    if (!kind.is_gathered) {
      kind.pack(partials[i], to, largest_.data(), own_keys_);
      continue;
    }
    const std::vector<std::byte> written = partials[i].serialize();
    if (written.empty()) return begin(out_of_memory());
    own_whole_.resize(own_whole_.size() + words_of_bytes(written.size()));
    put_bytes(std::span(own_whole_).last(words_of_bytes(written.size())), written);
  }
  key_ = static_cast<std::int64_t>(key);
  counts_ = largest;
  if (!own_whole_.empty()) {
    largest_.resize(largest_.size() + ranks_, kEmptyMaximum);
    largest_[counts_ + list_.size() + rank_] = static_cast<std::int64_t>(own_whole_.size());
  }
  // Everything that a round needs is allocated before the first, except the gathered words.
  unagreed_.resize(std::max(largest_.size(), unagreed_.size()));
  gathered_ = sums_.size();
  indices_.resize(own_keys_.size());
}

void Collective::fill_agreement() {
  const std::span<std::int64_t> words = agreement();
  if (!is_known()) std::ranges::fill(words, kEmptyMaximum);
  words[kKey] = error_ ? kEmptyMaximum : key_;
  words[kNotKey] = error_ ? kEmptyMaximum : ~key_;
  words[kFailed] = error_ ? std::int64_t{rank_} + 1 : 0;
}

void Collective::fill_dispute() {
  dispute_.fill(kEmptyMaximum);
  const std::span<const std::int64_t> words = agreement();
  if (error_ && words[kFailed] == std::int64_t{rank_} + 1) {
    std::string text;
    try {
      text = shown(error_->message, 200);
    } catch (...) {  // the other ranks learn of the failure without it
    }
    const auto room = std::span(dispute_).subspan(kMessage);
    put_bytes(room, std::as_bytes(std::span(text)).first(std::min(text.size(), (room.size() - 1) * 8)));
  }
  if (error_) return;
  const auto count = static_cast<std::int64_t>(list_.size());
  if (words[kKey] == key_) dispute_[kRankOfGreatest] = rank_, dispute_[kCountOfGreatest] = count;
  if (words[kNotKey] == ~key_) dispute_[kRankOfLeast] = rank_, dispute_[kCountOfLeast] = count;
}

Error Collective::settled() {
  if (error_) return *error_;
  if (const std::int64_t failed = agreement()[kFailed]; failed != 0) {
    std::span<const std::int64_t> words = std::span(dispute_).subspan(kMessage);
    const auto bytes = take_bytes(words);
    const std::string why(bytes ? reinterpret_cast<const char*>(bytes->data()) : "", bytes ? bytes->size() : 0);
    return {Code::kInvalid,
            "rank " + std::to_string(failed - 1) + " failed, so no rank has a result: " + printable(why)};
  }
  const auto list = [&](std::size_t rank, std::size_t count) {
    return "rank " + std::to_string(dispute_[rank]) + " has " + std::to_string(dispute_[count]);
  };
  return {Code::kInvalid, "the ranks do not merge the same list of partials: " +
                              list(kRankOfGreatest, kCountOfGreatest) + " and " + list(kRankOfLeast, kCountOfLeast) +
                              "; number, names, dtypes, precision, statistics and cast scale must agree"};
}

Status Collective::fill_gathered() {
  std::size_t words = sums_.size(), begin = 0;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const std::int64_t size = largest_[counts_ + list_.size() + rank];
    if (size <= 0 || static_cast<std::uint64_t>(size) > sums_.max_size() - words) {  // so it is on every rank
      return Error{Code::kInvalid,
                   "rank " + std::to_string(rank) + " sent no quantiles: each rank needs a number of its own"};
    }
    if (rank == rank_) begin = words;
    words += static_cast<std::size_t>(size);
  }
  sums_.resize(words);
  std::ranges::copy(own_whole_, sums_.begin() + static_cast<std::ptrdiff_t>(begin));
  return {};
}

std::optional<Collective::Round> Collective::next() try {
  const FloatEnvironment ieee;
  auto round = advance();
  if (!round) stage_ = Stage::kDone;
  return round;
} catch (...) {
  begin(caught());
  stage_ = Stage::kDone;
  return std::nullopt;
}

std::optional<Collective::Round> Collective::advance() {
  constexpr auto kMax = Round::Operation::kMax;
  switch (stage_) {
    case Stage::kBegun:
      fill_agreement();
      stage_ = Stage::kAgreement;
      return Round{kMax, agreement(), true};
    case Stage::kAgreement:
      if (const auto words = agreement(); words[kFailed] != 0 || words[kKey] != key_ || words[kNotKey] != ~key_) {
        fill_dispute();
        stage_ = Stage::kDispute;
        return Round{kMax, dispute_, true};
      }
      if (!is_known()) {
        agreed_key_ = key_;
        agreed_words_ = largest_.size();
        stage_ = Stage::kLargest;
        if (largest_.size() > kAgreementWords) return Round{kMax, std::span(largest_).subspan(kAgreementWords), true};
      }
      [[fallthrough]];
    case Stage::kLargest:
      for (std::size_t i = 0; i < list_.size(); ++i) {
        if (largest_[counts_ + i] <= std::numeric_limits<std::int64_t>::max() / ranks_) continue;
        error_ = Error{Code::kInvalid, "cannot merge: the ranks together may have 2^63 elements or more of a tensor"};
        return std::nullopt;
      }
      if (!own_whole_.empty()) {
        if (Status filled = fill_gathered(); !filled) {
          error_ = std::move(filled).error();
          return std::nullopt;
        }
      }
      stage_ = Stage::kSums;
      if (!sums_.empty()) return Round{Round::Operation::kSum, sums_, false};
      [[fallthrough]];
    case Stage::kSums:
      if (own_keys_.empty()) return std::nullopt;
      for (std::size_t i = 0; i < own_keys_.size(); ++i) {
        indices_[i] = own_keys_[i].key == largest_[own_keys_[i].word] ? own_keys_[i].index : kEmptyMaximum;
      }
      stage_ = Stage::kIndices;
      return Round{kMax, indices_, false};
    case Stage::kDispute:
      error_ = settled();
      return std::nullopt;
    case Stage::kIndices:
    case Stage::kDone:
      return std::nullopt;
  }
  return std::nullopt;
}

Status Collective::status() const {
  if (error_) return *error_;
  if (stage_ != Stage::kDone) return Error{Code::kInvalid, "the rounds of the collective have not ended"};
  return {};
}

Result<std::vector<Partial>> Collective::finish() try {
  const FloatEnvironment ieee;
  if (Status fine = status(); !fine) return std::move(fine).error();
  std::span<const std::int64_t> of_ranks = std::span(sums_).subspan(gathered_);
  std::vector<std::optional<Partial>> whole(of_ranks.empty() ? 0 : list_.size());
  for (std::uint32_t rank = 0; !of_ranks.empty() && rank < ranks_; ++rank) {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (!kinds_[list_[i]].is_gathered) continue;
      const auto bytes = take_bytes(of_ranks);
      if (!bytes) return Error{Code::kInvalid, "what was gathered of rank " + std::to_string(rank) + " is no partial"};
      auto partial = Partial::parse(*bytes);
      if (!partial) return std::move(partial).error();
      if (!whole[i]) {
        whole[i] = *std::move(partial);
      } else if (Status merged = whole[i]->merge(*partial); !merged) {
        return std::move(merged).error();
      }
    }
  }
  std::vector<Partial> partials;
  partials.reserve(list_.size());
  PackedWords from{largest_.data() + kAgreementWords, sums_.data(), indices_.data()};
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const Kind& kind = kinds_[list_[i]];
    if (kind.is_gathered) {
      partials.push_back(*std::move(whole[i]));
    } else {
      kind.unpack(from, partials.emplace_back(kind.empty));
    }
  }
  return partials;
} catch (...) {
  return caught();
}

}  // namespace tensorstat
