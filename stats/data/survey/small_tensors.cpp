#include "stats/data/survey/small_tensors.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "stats/core/base/thread_signals.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {
namespace {

using Item = SmallTensors::Item;

// Small enough that the Meter folds it on the calling thread, and that it fits into a core's own cache.
constexpr std::size_t kChunkBytes = std::size_t{120} << 10;
constexpr std::size_t kChunkCount = 64;
constexpr std::size_t kChunkFiles = 8;  // all tasks together: some 128, of the 1,024 open files that a process may have
// The limit of tasks that are not done, or wait for an earlier one. A done task holds only names and values.
constexpr std::size_t kMostTasks = 16;
constexpr std::size_t kAlignment = 64;

std::uint64_t bytes_of(const TensorReader& reader) { return reader.element_count() * size_bytes(reader.dtype()); }

Request on_host(Request request) {
  request.on = On::kHost;
  return request;
}

// A buffer of `bytes` bytes, which reuses `room`.
std::span<std::byte> room_for(std::vector<std::byte>& room, std::size_t bytes) {
  if (room.size() < bytes) room.resize(bytes);
  return std::span(room).first(bytes);
}

void note_unreadable(Item& item, const Error& error) {
  item.fault = error;
  item.is_unreadable = true;
}

// Reads tensors that are close together in one file with a single read. False if they are not, or if the file has
// become too short.
bool read_together(std::span<Item> items, TensorReader::Order order, std::vector<std::byte>& room,
                   std::vector<std::span<const std::byte>>& bits) {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0, sum = 0;
  std::vector<TensorReader::Place> places;
  for (const Item& item : items) {
    const auto place = item.reader.place(order);
    if (!place || (!places.empty() && place->file != places.front().file)) return false;
    const std::uint64_t bytes = bytes_of(item.reader);
    begin = std::min(begin, place->offset_bytes);
    end = std::max(end, place->offset_bytes + bytes);
    sum += bytes;
    places.push_back(*place);
  }
  constexpr std::uint64_t kGapBytes = 1024;  // such as the headers of an archive
  if (end - begin > sum + items.size() * kGapBytes) return false;
  const auto all = room_for(room, end - begin);
  if (!places.front().file->read_at(begin, all)) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    bits.push_back(all.subspan(places[i].offset_bytes - begin, bytes_of(items[i].reader)));
    if (Status status = items[i].reader.accept(bits[i]); !status) note_unreadable(items[i], status.error());
  }
  return true;
}

void read_each(std::span<Item> items, TensorReader::Order order, std::vector<std::byte>& room,
               std::vector<std::span<const std::byte>>& bits) {
  const auto aligned = [](std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  std::size_t sum = 0;
  for (const Item& item : items) sum += aligned(bytes_of(item.reader));
  auto rest = room_for(room, sum);
  for (Item& item : items) {
    const auto out = rest.first(bytes_of(item.reader));
    rest = rest.subspan(aligned(out.size()));
    bits.push_back(out);
    item.reader.rewind(order, TensorReader::View::kElements);
    if (const auto got = item.reader.read(out); !got) note_unreadable(item, got.error());
    item.reader.release();  // the item waits for those before it
  }
}

}  // namespace

void SmallTensors::Chunk::add(Item&& item) {
  if (items.empty()) items.reserve(kChunkCount);
  if (items.empty() || items.back().file != item.file) files += 1;
  bytes += bytes_of(item.reader);
  items.push_back(std::move(item));
}

bool SmallTensors::Chunk::is_full() const {
  return bytes >= kChunkBytes || items.size() == kChunkCount || files == kChunkFiles;
}

bool SmallTensors::takes(const TensorReader& reader) {
  return reader.is_separate() && reader.data_type() == name(reader.dtype());
}

SmallTensors::SmallTensors(Meter& meter, const Request& request, TensorReader::Order order, unsigned threads,
                           MakeEntry make_entry, Done done)
    : meter_(meter),
      request_(on_host(request)),
      order_(order),
      threads_(threads),
      make_entry_(std::move(make_entry)),
      done_(std::move(done)) {}

SmallTensors::~SmallTensors() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& other : others_) other.join();
}

void SmallTensors::submit(Chunk&& chunk) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({std::move(chunk)});
  }
  changed_.notify_all();
  if (others_.size() + 1 < threads_) {
    const ThreadSignals blocked;
    others_.emplace_back([this] {
      std::vector<std::byte> room;
      std::unique_lock lock(mutex_);
      while (!stops_) {
        if (!work_on_one(lock, room)) changed_.wait(lock);
      }
    });
  }
  accept_done(false);
}

void SmallTensors::finish() { accept_done(true); }

// Passes done chunks to `done_`, in order. If too many are not done, or if `all`, this thread works on one itself.
void SmallTensors::accept_done(bool all) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!tasks_.empty() && tasks_.front().is_done) {
      Chunk chunk = std::move(tasks_.front().chunk);
      tasks_.pop_front();
      lock.unlock();
      done_(std::move(chunk));
      lock.lock();
    }
    if (tasks_.empty() || (!all && tasks_.size() < kMostTasks)) return;
    if (!work_on_one(lock, room_)) changed_.wait(lock);
  }
}

// Measures the first task that no thread has taken; false if all are taken. References stay valid, because a deque does
// not move elements when others are added or removed at its ends.
bool SmallTensors::work_on_one(std::unique_lock<std::mutex>& lock, std::vector<std::byte>& room) {
  const auto task = std::ranges::find(tasks_, false, &Task::is_taken);
  if (task == tasks_.end()) return false;
  Task& taken = *task;
  taken.is_taken = true;
  lock.unlock();
  measure(taken.chunk, room);
  lock.lock();
  taken.is_done = true;
  changed_.notify_all();
  return true;
}

void SmallTensors::measure(Chunk& chunk, std::vector<std::byte>& room) try {
  std::span<Item> items(chunk.items);
  // Only the last tensor can be larger than the cache; it is read in pieces.
  if (bytes_of(items.back().reader) > kChunkBytes) {
    measure_large(items.back(), room);
    items = items.first(items.size() - 1);
  }
  if (!items.empty()) measure_together(items, room);
} catch (...) {
  for (Item& item : chunk.items) item.fault = out_of_memory();
}

void SmallTensors::measure_large(Item& item, std::vector<std::byte>& room) {
  auto stream = meter_.stream(item.reader.dtype(), request_);
  if (!stream) {
    item.fault = stream.error();
    return;
  }
  const auto piece = room_for(room, kChunkBytes);
  item.reader.rewind(order_, TensorReader::View::kElements);
  for (;;) {
    const auto got = item.reader.read(piece);
    if (!got) return note_unreadable(item, got.error());
    if (*got == 0) break;
    if (Status appended = stream->append(piece.first(*got)); !appended) {
      item.fault = appended.error();
      return;
    }
  }
  item.reader.release();
  if (const auto measured = stream->finish()) {
    make_entry_(item, measured->front().statistics);
  } else {
    item.fault = measured.error();
  }
}

void SmallTensors::measure_together(std::span<Item> items, std::vector<std::byte>& room) {
  std::vector<std::span<const std::byte>> bits;
  if (!read_together(items, order_, room, bits)) read_each(items, order_, room, bits);
  std::vector<Tensor> tensors;
  std::vector<Item*> read;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].fault) continue;
    const TensorReader& reader = items[i].reader;
    tensors.push_back({.dtype = reader.dtype(), .element_count = reader.element_count(), .address = bits[i].data()});
    read.push_back(&items[i]);
  }
  const auto all = meter_.measure(tensors, request_);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (all) {
      make_entry_(*read[i], (*all)[i].statistics);
    } else if (const auto alone = meter_.measure({&tensors[i], 1}, request_)) {  // a bad tensor fails the whole batch,
                                                                                 // so each is tried alone
      make_entry_(*read[i], alone->front().statistics);
    } else {
      read[i]->fault = alone.error();
    }
  }
}

}  // namespace tensorstat
