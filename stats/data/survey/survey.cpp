#include "stats/data/survey/survey.hpp"

#include <algorithm>
#include <future>
#include <tensorstat/partial.hpp>
#include <thread>
#include <utility>

#include "stats/core/base/abandon.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/mindspore_file_name.hpp"
#include "stats/data/survey/rows_by.hpp"
#include "stats/data/survey/wanted_tensors.hpp"

namespace tensorstat {
namespace {

// A batch of small tensors costs one launch. Its size is limited, so that tensors of a few KiB are still in a core's
// cache when they are folded. Pieces of 16 MiB are large enough for an engine's full speed, and small enough that the
// next one is read while this one is computed.
constexpr std::uint64_t kBatchBytes = std::uint64_t{32} << 20;
constexpr std::size_t kBatchCount = 256;
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

TensorReader::Order order_for(const Request& request) {
  // Only checksums and digests, indices, and sums that round at every step depend on the order of the elements.
  const bool is_any =
      request.precision == Precision::kHigh && std::ranges::none_of(request.categories, [](Category each) {
        return is_of_bytes(each) || kind(each) == ValueKind::kIndex;
      });
  return is_any ? TensorReader::Order::kAny : TensorReader::Order::kC;
}

}  // namespace

Survey::Survey(Meter& meter, Request request, Options options, Listener listener)
    : meter_(meter),
      request_(std::move(request)),
      options_(std::move(options)),
      order_(order_for(request_)),
      listener_(std::move(listener)),
      threads_(options_.threads != 0 ? options_.threads : std::max(1u, std::thread::hardware_concurrency())),
      host_(meter_, request_),
      many_(
          meter_, request_, order_, threads_,
          [this](SmallTensors::Item& item, const StatisticsView& statistics) { make_entry(item, statistics); },
          [this](SmallTensors::Chunk&& chunk) { accept(std::move(chunk)); }) {
  if (order_ == TensorReader::Order::kAny) in_blocks_.emplace(meter_, request_, threads_);
}

OpenedSource Survey::open(const std::string& path, const std::string& file_name, bool takes_stream) {
  Original original = original_from(named_tensor(file_name, 0).original_dtype);
  if (original == Original::kAsStored && options_.void_is_bfloat16) original = Original::kVoidIsBfloat16;
  auto source = open_tensors(
      path, {.original = original, .takes_stream = takes_stream, .head_only = options_.head_only, .raw = options_.raw});
  progress_.files += 1;
  if (source) {
    progress_.known += (*source)->count().value_or(1);
  } else {
    progress_.known += 1;
    progress_.tensors += 1;
    listener_.unreadable(source.error());
  }
  return source;
}

void Survey::add(const std::string& path, bool takes_stream, const std::vector<std::string>& wanted, Numbers only) {
  const std::string file_name = names_.name_of(path);
  auto source = open(path, file_name, takes_stream);
  if (!source) return;
  std::shared_ptr<const SurveyedFile> file;
  const std::uint64_t before = progress_.tensors;
  WantedTensors names(wanted);
  std::vector<Error> refused;  // among which a wanted one may be
  for (std::uint64_t number = 0; number < only.end; ++number) {
    auto reader = (*source)->next();
    if (!reader) break;
    progress_.tensors += 1;
    if (number < only.first) continue;
    if (!*reader) {
      wanted.empty() ? listener_.unreadable(reader->error()) : refused.push_back(reader->error());
      continue;
    }
    if (!names.take((*reader)->name())) continue;
    if (file == nullptr) file = file_of(path, file_name, **reader);
    if (options_.head_only) {
      listener_.measured(surveyed(*file, number, **reader, request_));
    } else if (is_for_many(**reader)) {
      add_to_chunk({file, number, **std::move(reader)});
    } else {
      end_chunks();
      add_tensor(surveyed(*file, number, **reader, request_), **std::move(reader));
    }
  }
  for (const std::string& name : names.missing()) {
    const std::string label = printable_name(tensor_label(path, name)) + ": ";
    const auto told = std::ranges::find_if(refused, [&](const Error& each) { return each.message.starts_with(label); });
    listener_.unreadable(told != refused.end() ? *told
                                               : Error{Code::kUnreadable, label + "the file has no such tensor"});
  }
  if (progress_.tensors == before && wanted.empty()) {
    listener_.unreadable(holds_no_tensor(path));
  }
}

void Survey::add_piece(const std::string& path, const Piece& piece, const Folded& folded) {
  const std::string file_name = names_.name_of(path);
  auto source = open(path, file_name, false);
  if (!source) return;
  for (std::uint64_t number = 0;; ++number) {
    auto reader = (*source)->next();
    if (!reader) {
      return listener_.unreadable({Code::kUnreadable, printable(path) + ": has no tensor " +
                                                          std::to_string(piece.tensor) + " any more; plan again"});
    }
    progress_.tensors += 1;
    if (number != piece.tensor) continue;
    if (!*reader) return listener_.unreadable(reader->error());
    SurveyedTensor entry = surveyed(*file_of(path, file_name, **reader), number, **reader, request_);
    if (!can_be_cut(**reader, request_) || piece.first % kCutElements != 0 ||
        piece.first > (*reader)->element_count() || piece.count > (*reader)->element_count() - piece.first) {
      return listener_.unreadable(
          {Code::kUnreadable, printable_name(entry.label()) + ": cannot be cut as it was planned; plan again"});
    }
    BlockFold blocks = host_.is_host((*reader)->dtype()) ? BlockFold(meter_, request_, threads_)
                                                         : BlockFold(meter_, request_, 1, kPieceBytes);
    auto partial = blocks.fold_part(**reader, piece.first, piece.count, order_ == TensorReader::Order::kC,
                                    [&](std::uint64_t bytes) { read(bytes); });
    const std::vector<Decision> placement = placement_of_piece((*reader)->dtype());
    entry.placement = placement;
    if (partial) return folded(std::move(entry), (*reader)->element_count(), *std::move(partial));
    const bool is_file = partial.error().code == Code::kUnreadable;
    return is_file ? listener_.unreadable(partial.error()) : listener_.unmeasured(entry.label(), partial.error());
  }
}

std::vector<Decision> Survey::placement_of_piece(Dtype dtype) {
  if (host_.is_host(dtype)) return {host_.decisions(dtype).begin(), host_.decisions(dtype).end()};
  std::vector<Decision> placement;
  for (const Category category : request_.categories) placement.push_back({category, "opencl", "a piece of a tensor"});
  return placement;
}

bool can_be_cut(const TensorReader& reader, const Request& request) {
  return reader.is_fetchable() && reader.data_type() == name(reader.dtype()) && !is_packed(reader.dtype()) &&
         std::ranges::none_of(request.categories, is_digest) &&
         (order_for(request) == TensorReader::Order::kAny || reader.place(TensorReader::Order::kC).has_value());
}

// `first`: a tensor of the file. Only the first one can have no name.
std::shared_ptr<const SurveyedFile> Survey::file_of(const std::string& path, const std::string& file_name,
                                                    const TensorReader& first) {
  const DumpedLeaf* leaf = first.name() ? nullptr : calls_.leaf_of(path);
  auto identity = leaf != nullptr ? std::optional(leaf->identity) : std::nullopt;
  return std::make_shared<const SurveyedFile>(
      SurveyedFile{path, file_name, progress_.files - 1, places_.of(path), std::move(identity)});
}

// Not for digests: these are computed for many tensors at a time, more than a chunk has.
bool Survey::is_for_many(const TensorReader& reader) {
  const bool is_possible = threads_ > 1 && !options_.by && SmallTensors::takes(reader);
  return is_possible && reader.data_size_bytes() <= kPieceBytes &&
         std::ranges::none_of(request_.categories, is_digest) && !(in_blocks_ && in_blocks_->takes(reader));
}

void Survey::add_to_chunk(SmallTensors::Item&& item) {
  chunk_.add(std::move(item));
  if (!chunk_.is_full()) return;
  if (!place_on_host(chunk_)) return end_chunks();
  measure_pending();
  has_submitted_ = true;
  many_.submit(std::exchange(chunk_, {}));
}

// Submits the last chunk. If it is the only one, its tensors are too few for a second thread, and join pending_.
void Survey::end_chunks() {
  auto last = std::exchange(chunk_, {});
  if (std::exchange(has_submitted_, false)) {
    if (!last.items.empty() && place_on_host(last)) many_.submit(std::exchange(last, {}));
    many_.finish();
  }
  for (auto& item : last.items)
    add_tensor(surveyed(*item.file, item.number, item.reader, request_), std::move(item.reader));
}

// False if a tensor has to be placed elsewhere.
bool Survey::place_on_host(SmallTensors::Chunk& chunk) {
  for (SmallTensors::Item& item : chunk.items) {
    if (!host_.is_host(item.reader.dtype())) return false;
    item.placement = host_.decisions(item.reader.dtype());
  }
  return true;
}

// Any thread calls it.
void Survey::make_entry(SmallTensors::Item& item, const StatisticsView& statistics) const {
  item.entry = surveyed(*item.file, item.number, item.reader, request_);
  item.entry.row.statistics = Statistics(statistics);
  item.entry.placement = item.placement;
  if (listener_.line) item.entry.line = listener_.line(item.entry);
}

void Survey::accept(SmallTensors::Chunk&& chunk) {
  read(chunk.bytes);
  for (auto& item : chunk.items) {
    if (!item.fault) {
      listener_.measured(std::move(item.entry));
    } else if (item.is_unreadable) {
      listener_.unreadable(*item.fault);
    } else {
      listener_.unmeasured(tensor_label(item.file->path, item.reader.name()), *item.fault);
    }
  }
}

void Survey::add_tensor(SurveyedTensor&& entry, TensorReader&& reader) {
  // The digest of a packed dtype, such as int4, is over other bytes than its statistics, so the tensor is read twice.
  const bool is_read_twice = reader.data_type() != name(reader.dtype());
  const bool has_other_bytes = is_read_twice && std::ranges::any_of(request_.categories, is_of_bytes);
  const bool is_in_blocks =
      !options_.by && !has_other_bytes && in_blocks_ && in_blocks_->takes(reader) && host_.is_host(reader.dtype());
  if (options_.by || is_in_blocks || reader.data_size_bytes() > kPieceBytes || is_read_twice) {
    measure_pending();
    const std::string label = entry.label();
    const Status measured = options_.by    ? measure_rows(reader, entry)
                            : is_in_blocks ? measure_in_blocks(reader, std::move(entry))
                                           : measure_alone(reader, std::move(entry));
    if (measured) return;
    const bool is_file = measured.error().code == Code::kUnreadable;
    return is_file ? listener_.unreadable(measured.error()) : listener_.unmeasured(label, measured.error());
  }
  reader.rewind(order_, TensorReader::View::kElements);
  const std::size_t bytes = reader.data_size_bytes();
  const std::span<std::byte> bits(pending_->room_for(bytes), bytes);
  if (const auto got = reader.read(bits); !got) return listener_.unreadable(got.error());
  read(bytes);
  pending_->bytes += bytes;
  pending_->tensors.push_back(
      {.dtype = reader.dtype(), .element_count = reader.element_count(), .address = bits.data()});
  pending_->entries.push_back(std::move(entry));
  if (pending_->bytes >= kBatchBytes || pending_->tensors.size() >= kBatchCount) measure_pending();
}

// Small tensors share blocks, which are reused from the batch before: allocating memory for each and bringing it into
// the cache would cost more than the statistics.
std::byte* Survey::Batch::room_for(std::size_t bytes) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 20, kAlignment = 64;
  if (bytes > kBlockBytes) return large.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes)).get();
  if (in_block + bytes > kBlockBytes) full_blocks += 1, in_block = 0;
  if (full_blocks == blocks.size()) blocks.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlockBytes));
  const std::size_t end = (in_block + bytes + kAlignment - 1) / kAlignment * kAlignment;
  return blocks[full_blocks].get() + std::exchange(in_block, end);
}

void Survey::finish() {
  end_chunks();
  measure_pending();
}

void Survey::measure_pending() {
  if (pending_->tensors.empty()) return;
  auto batch = std::exchange(pending_, std::make_unique<Batch>());
  const auto all = meter_.measure(batch->tensors, request_);
  if (all) {
    for (std::size_t i = 0; i < batch->entries.size(); ++i) accept(std::move(batch->entries[i]), (*all)[i]);
    pending_->blocks = std::move(batch->blocks);
    return;
  }
  bool in_use = all.error().code == Code::kInUse;
  // One bad tensor fails the whole batch. Measure each tensor alone to find it.
  for (std::size_t i = 0; i < batch->entries.size(); ++i) {
    const auto measured = meter_.measure({&batch->tensors[i], 1}, request_);
    if (measured) {
      accept(std::move(batch->entries[i]), measured->front());
    } else {
      in_use |= measured.error().code == Code::kInUse;
      listener_.unmeasured(batch->entries[i].label(), measured.error());
    }
  }
  if (in_use) abandon(std::move(batch));
}

Status Survey::measure_alone(TensorReader& reader, SurveyedTensor entry) {
  using View = TensorReader::View;
  Categories values, digests;
  const bool is_packed = reader.data_type() != name(reader.dtype());
  for (const Category category : request_.categories) {
    (is_packed && is_of_bytes(category) ? digests : values).push_back(category);
  }
  if (values.empty()) {  // only digests, over bytes without elements
    const auto digested = measure_in_pieces(reader, Dtype::kUint8, View::kOriginal, digests);
    if (!digested) return digested.error();
    accept(std::move(entry), digested->front());
    return {};
  }
  const auto measured = measure_in_pieces(reader, reader.dtype(), View::kElements, values);
  if (!measured) return measured.error();
  if (digests.empty()) {
    accept(std::move(entry), measured->front());
    return {};
  }
  const auto digested = measure_in_pieces(reader, Dtype::kUint8, View::kOriginal, digests);
  if (!digested) return digested.error();
  Statistics all(request_.categories, {});
  std::vector<Decision> placement;
  std::size_t next_value = 0, next_digest = 0;
  for (const Category category : request_.categories) {
    const Measurement from = is_of_bytes(category) ? digested->front() : measured->front();
    const std::size_t index = is_of_bytes(category) ? next_digest++ : next_value++;
    all.values.push_back(from.statistics.values[index]);
    placement.push_back(from.placement[index]);
  }
  accept(std::move(entry), {all, placement, measured->front().device_bytes});
  return {};
}

Status Survey::measure_in_blocks(const TensorReader& reader, SurveyedTensor entry) {
  const auto measured = in_blocks_->fold(reader, [&](std::uint64_t bytes) { read(bytes); });
  if (!measured) return measured.error();
  accept(std::move(entry), {*measured, host_.decisions(reader.dtype())});
  return {};
}

// Each row becomes an entry with its own shape and size.
Status Survey::measure_rows(TensorReader& reader, const SurveyedTensor& entry) {
  const bool is_packed = reader.data_type() != name(reader.dtype());
  if (is_packed && std::ranges::any_of(request_.categories, is_of_bytes)) {
    return Error{Code::kUnsupported, "a digest of the rows of " + std::string(reader.data_type()) +
                                         ", which is measured in a wider type: leave it out"};
  }
  std::uint64_t block = 0;  // its number
  const RowListener listener{.read = [&](std::uint64_t more) { read(more); },
                             .row =
                                 [&](Shape&& index, Shape&& shape, const Measurement& measured) {
                                   SurveyedTensor row = entry;
                                   const std::uint64_t elements = *element_count(shape);
                                   row.row.data_size_bytes = reader.data_size_bytes(elements);
                                   row.row.shape = std::move(shape);
                                   const bool is_block = options_.by->block_elements != 0;
                                   row.row.identity.set(
                                       "index", is_block ? block_text(block++, index, elements) : index_text(index));
                                   row.index = std::move(index);
                                   accept(std::move(row), measured);
                                 }};
  return tensorstat::measure_rows(meter_, request_, reader, *options_.by, listener);
}

// If the device fails with kInUse, the tensor is read and measured a second time; `auto` then means the host.
Result<Measurements> Survey::measure_in_pieces(TensorReader& reader, Dtype dtype, TensorReader::View view,
                                               const Categories& categories) {
  auto measured = stream_pieces(reader, dtype, view, categories);
  const bool again = !measured && measured.error().code == Code::kInUse && request_.on == On::kAuto;
  return again ? stream_pieces(reader, dtype, view, categories) : std::move(measured);
}

Result<Measurements> Survey::stream_pieces(TensorReader& reader, Dtype dtype, TensorReader::View view,
                                           const Categories& categories) {
  auto stream = meter_.stream(dtype, {categories, request_.precision, request_.on, request_.cast_scale});
  if (!stream) return stream.error();
  reader.rewind(order_, view);
  // No larger than the tensor: a file may hold thousands of small ones that are read so. The original's bytes are never
  // more than those of its elements.
  const std::size_t element_bytes = size_bytes(reader.dtype());
  const std::size_t piece_bytes =
      std::min<std::uint64_t>(reader.element_count(), kPieceBytes / element_bytes) * element_bytes;
  struct Pieces {
    std::vector<std::byte> now, next;
  };
  auto pieces = std::make_unique<Pieces>(
      Pieces{.now = std::vector<std::byte>(piece_bytes), .next = std::vector<std::byte>(piece_bytes)});
  std::vector<std::byte>&now = pieces->now, &next = pieces->next;
  // Declared after the buffers: its destructor waits for the reading thread before they are freed.
  std::future<Result<std::size_t>> reading;
  const auto read_ahead = [&] { reading = std::async([&] { return reader.read(next); }); };
  for (read_ahead();;) {
    const auto got = reading.get();
    if (!got) return got.error();
    if (*got == 0) {
      auto finished = stream->finish();
      if (!finished && finished.error().code == Code::kInUse) abandon(std::move(pieces));
      return finished;
    }
    std::swap(now, next);
    read_ahead();
    Status appended = stream->append(std::span(now).first(*got));
    if (!appended) {
      if (appended.error().code == Code::kInUse) abandon(std::move(pieces));
      return appended.error();
    }
    read(*got);
  }
}

void Survey::accept(SurveyedTensor&& entry, const Measurement& measurement) {
  entry.row.statistics = Statistics(measurement.statistics);
  entry.placement = measurement.placement;
  entry.device_bytes = measurement.device_bytes;
  listener_.measured(std::move(entry));
}

void Survey::read(std::uint64_t bytes) {
  progress_.bytes += bytes;
  listener_.progressed(progress_);
}

}  // namespace tensorstat
