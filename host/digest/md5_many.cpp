#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "host/digest/digest.hpp"
#include "host/digest/md5_lanes.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kLengthBytes = 8;  // the size of the length in bits at the end of the padding
constexpr std::uint32_t kInitial[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

using Message = std::span<const std::byte>;

// The number of last blocks of a message: the rest of its bytes, a 1 bit, zeros, the length.
std::size_t tail_blocks(Message message) {
  return message.size() % kBlockBytes + 1 + kLengthBytes <= kBlockBytes ? 1 : 2;
}

std::size_t total_blocks(Message message) { return message.size() / kBlockBytes + tail_blocks(message); }

// Three tables, by their number of lanes. The first one with enough lanes is the fastest.
struct Tables {
  const Md5Kernels &scalar, &few, &many;

  const Md5Kernels& for_lanes(int busy) const {
    return busy <= scalar.lanes() ? scalar : busy <= few.lanes() ? few : many;
  }
};

Tables tables_for(Isa isa) {
#ifdef TENSORSTAT_AVX512
  if (isa == Isa::kAvx512) return {kMd5Scalar, kMd5Avx512Few, kMd5Avx512};
#endif
#ifdef TENSORSTAT_AVX2
  if (isa == Isa::kAvx2) return {kMd5Scalar, kMd5Avx2, kMd5Avx2};
#endif
  static_cast<void>(isa);
  return {kMd5Scalar, kMd5Baseline, kMd5Baseline};
}

// The messages in the lanes. The busy lanes are always the first ones.
class Lanes {
 public:
  Lanes(const Tables& tables, Md5Observer& observer) : tables_(tables), observer_(observer) {
    for (std::size_t i = 0; i < kMd5MostLanes; ++i) jobs_[i].slot = i;
  }

  bool idle() const { return busy_ == 0; }
  bool full() const { return busy_ == tables_.many.lanes(); }

  void admit(Message message, std::size_t index) {
    const int lane = busy_++;
    for (int w = 0; w < 4; ++w) state_.word[w][lane] = kInitial[w];
    Job& job = jobs_[lane];
    job.message = message;
    job.index = index;
    job.shown_bytes = 0;
    job.left_blocks = message.size() / kBlockBytes;
    job.tail_blocks = tail_blocks(message);
    next_[lane] = message.data();
    observer_.begin(job.slot, index);
    if (job.left_blocks == 0) enter_tail(lane);
  }

  // Works until at least one message is done.
  void work() {
    const int before = busy_;
    while (busy_ == before) {
      std::size_t blocks = kObservedBytes / kBlockBytes;
      for (int lane = 0; lane < busy_; ++lane) blocks = std::min(blocks, jobs_[lane].left_blocks);
      for (int lane = 0; lane < busy_; ++lane) {
        Job& job = jobs_[lane];
        if (job.tail_blocks != 0) show(job, next_[lane] + blocks * kBlockBytes - job.message.data());
      }
      advance(blocks);
      for (int lane = busy_; lane-- > 0;) {  // downwards, because leave() moves the last lane into the gap
        next_[lane] += blocks * kBlockBytes;
        jobs_[lane].left_blocks -= blocks;
        if (jobs_[lane].left_blocks != 0) continue;
        if (jobs_[lane].tail_blocks != 0) {
          enter_tail(lane);
        } else {
          leave(lane);
        }
      }
    }
  }

 private:
  struct Job {
    Message message;
    std::size_t index, slot;  // index of the message, slot of its tail
    std::size_t shown_bytes;
    std::size_t left_blocks;  // at next_
    std::size_t tail_blocks;  // at its tail, after those; 0 once the lane is there
  };

  // Shows pieces to the observer until it has seen the first `bytes` of the message.
  void show(Job& job, std::ptrdiff_t bytes) {
    while (job.shown_bytes < static_cast<std::size_t>(bytes)) {
      const Message left = job.message.subspan(job.shown_bytes);
      const Message piece = left.first(std::min(left.size(), kObservedBytes));
      observer_.piece(job.slot, piece);
      job.shown_bytes += piece.size();
    }
  }

  // A vector with few busy lanes takes as long as a full one. Measured, GB/s: scalar 0.84, 1.6 and
  // 2.3 for one, two and three messages; a vector 0.3 to 0.4 for each busy lane.
  void advance(std::size_t blocks) {
    const Md5Kernels& kernels = tables_.for_lanes(busy_);
    const int vectors = (busy_ + kernels.width - 1) / kernels.width;
    std::fill(next_ + busy_, next_ + vectors * kernels.width, next_[0]);  // unused lanes need a readable address
    kernels.advance[vectors - 1](state_, next_, blocks);
  }

  void enter_tail(int lane) {
    Job& job = jobs_[lane];
    show(job, static_cast<std::ptrdiff_t>(job.message.size()));
    std::byte* const tail = tails_[job.slot];
    const Message rest = job.message.last(job.message.size() % kBlockBytes);
    const std::size_t tail_bytes = job.tail_blocks * kBlockBytes;
    const std::uint64_t length_bits = std::uint64_t{job.message.size()} * 8;
    std::ranges::copy(rest, tail);
    tail[rest.size()] = std::byte{0x80};
    std::fill(tail + rest.size() + 1, tail + tail_bytes - kLengthBytes, std::byte{0});
    std::memcpy(tail + tail_bytes - kLengthBytes, &length_bits, kLengthBytes);
    next_[lane] = tail;
    job.left_blocks = std::exchange(job.tail_blocks, 0);
  }

  void leave(int lane) {
    Md5Digest digest;
    for (int w = 0; w < 4; ++w) std::memcpy(digest.data() + 4 * w, &state_.word[w][lane], 4);
    observer_.end(jobs_[lane].slot, jobs_[lane].index, digest);
    const int last = --busy_;
    for (int w = 0; w < 4; ++w) state_.word[w][lane] = state_.word[w][last];
    next_[lane] = next_[last];
    std::swap(jobs_[lane], jobs_[last]);  // the slot of the leaving job is free again
  }

  const Tables tables_;
  Md5Observer& observer_;
  int busy_ = 0;
  Md5State state_ = {};
  const std::byte* next_[kMd5MostLanes] = {};
  Job jobs_[kMd5MostLanes] = {};
  std::byte tails_[kMd5MostLanes][2 * kBlockBytes];
};

// Digests one message with OpenSSL.
void digest_alone(Md5& serial, Message message, Md5Observer& observer) {
  observer.begin(0, 0);
  for (Message left = message; !left.empty();) {
    const Message piece = left.first(std::min(left.size(), kObservedBytes));
    observer.piece(0, piece);
    serial.update(piece);
    left = left.subspan(piece.size());
  }
  observer.end(0, 0, serial.finish());
}

class Collector final : public Md5Observer {
 public:
  explicit Collector(std::span<Md5Digest> digests) : digests_(digests) {}
  void begin(std::size_t, std::size_t) override {}
  void piece(std::size_t, Message) override {}
  void end(std::size_t, std::size_t message, Result<Md5Digest> digest) override {
    if (digest) {
      digests_[message] = *digest;
    } else {
      status = std::move(digest).error();
    }
  }

  Status status;

 private:
  const std::span<Md5Digest> digests_;
};

}  // namespace

Status md5_many(std::span<const Message> messages, Md5Observer& observer, Isa isa) noexcept try {
  if (messages.empty()) return {};
  // Lanes do not need OpenSSL. But if OpenSSL refuses MD5, the result must not depend on the number of messages.
  // Digesting an empty message shows it.
  Md5 serial;
  if (auto asked = serial.finish(); !asked) return std::move(asked).error();
  if (messages.size() == 1) {
    digest_alone(serial, messages[0], observer);
    return {};
  }

  // Longest first: the last messages are short, so all lanes end at about the same time.
  std::vector<std::size_t> order(messages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto blocks = [&](std::size_t i) { return total_blocks(messages[i]); };
  if (!std::ranges::is_sorted(order, std::greater(), blocks)) std::ranges::stable_sort(order, std::greater(), blocks);

  Lanes lanes(tables_for(isa), observer);
  for (auto next = order.begin(); next != order.end() || !lanes.idle();) {
    for (; next != order.end() && !lanes.full(); ++next) lanes.admit(messages[*next], *next);
    lanes.work();
  }
  return {};
} catch (const std::exception&) {
  return Error{Code::kUnsupported, "out of memory"};
}

Status md5_many(std::span<const Message> messages, std::span<Md5Digest> digests, Isa isa) noexcept {
  Collector collector(digests);
  Status status = md5_many(messages, collector, isa);
  return status ? collector.status : status;
}

}  // namespace tensorstat
