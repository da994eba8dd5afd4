#include "stats/job/dump/session/dump_meter.hpp"

#include <algorithm>
#include <tensorstat/partial.hpp>

#include "stats/core/base/abandon.hpp"
#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/rules/specials.hpp"
#include "stats/job/dump/session/dump_graph.hpp"

namespace tensorstat {
namespace {

MeterOptions with_log(MeterOptions options, const std::shared_ptr<Notices>& notices) {
  // Say it later: the meter's caller holds a lock of the session.
  options.log = [notices](Severity severity, std::string_view text) { notices->say_once(severity, text, text); };
  return options;
}

// Several tensors a request, but not more than one launch takes.
constexpr std::size_t kBatch = 256;

}  // namespace

DumpMeter::DumpMeter(const DumpConfig& config, Categories columns, MeterOptions options,
                     std::shared_ptr<Notices> notices)
    : columns_(std::move(columns)),
      column_count_(columns_.size()),
      precision_(config.on_device ? config.device_stat_precision_mode : Precision::kHigh),
      on_(config.on_device ? On::kAuto : On::kHost),
      on_gpus_(config.names_host ? On::kHost : On::kAuto),
      notices_(std::move(notices)),
      meter_(with_log(std::move(options), notices_)) {
  sort(columns_);
}

void DumpMeter::sort(const Categories& categories) {
  for (const Category category : categories) {
    Categories& kind = is_of_bytes(category) ? digests_ : plain_;
    if (std::find(kind.begin(), kind.end(), category) == kind.end()) kind.push_back(category);
  }
  all_ = plain_;
  all_.insert(all_.end(), digests_.begin(), digests_.end());
}

void DumpMeter::also_measure(const Categories& more) {
  board_.reset();
  columns_.resize(column_count_, Category::kMax);
  columns_.insert(columns_.end(), more.begin(), more.end());
  sort(more);
}

bool DumpMeter::looks_at(const PendingTensor& tensor) {
  const Dtype dtype = tensor.tensor.dtype;
  return tensor.io == Io::kOutput && tensor.stored == Stored::kPlain &&
         (dtype == Dtype::kFloat16 || dtype == Dtype::kFloat32 || dtype == Dtype::kBfloat16);
}

bool DumpMeter::overflows(const PendingRun& run) {
  const Categories specials{Category::kNanCount, Category::kPositiveInfCount, Category::kNegativeInfCount};
  std::vector<Tensor> outputs;
  for (const PendingTensor& tensor : run.tensors) {
    if (looks_at(tensor)) outputs.push_back(tensor.tensor);
  }
  for (const auto& statistics : ask(outputs, specials, On::kHost)) {
    if (!statistics) return true;
    const Specials here = specials_of(*statistics);
    if (!here.is_nan_known || !here.is_inf_known || here.any()) return true;
  }
  return false;
}

std::string DumpMeter::waits_for_tensors(std::string_view why) {
  return "collect() waits for tensors in device memory, in spite of ordered_by_queue: " + std::string(why);
}

Board* DumpMeter::board() {
  const std::lock_guard lock(board_mutex_);
  if (!board_) {
    board_ = Board::on(meter_, {.categories = plain_, .precision = precision_});
    if (!*board_) {
      notices_->inform_once("no board", [&] { return waits_for_tensors(board_->error().message); });
    }
  }
  return *board_ ? &**board_ : nullptr;
}

bool DumpMeter::fold_on_board(std::span<PendingTensor* const> tensors) {
  if (plain_.empty()) return false;
  Board* const board = this->board();
  if (board == nullptr) return false;
  for (PendingTensor* const tensor : tensors) {
    auto ticket = board->fold(tensor->tensor);
    if (!ticket) {
      notices_->inform_once("not on the board", [&] { return waits_for_tensors(ticket.error().message); });
      for (PendingTensor* const each : tensors) each->ticket.reset();
      return false;
    }
    tensor->ticket = std::make_shared<const BoardTicket>(*std::move(ticket));
  }
  return true;
}

void DumpMeter::end_board_step() {
  const std::lock_guard lock(board_mutex_);
  if (board_ && *board_) (*board_)->end_step();
}

std::shared_ptr<DumpGraph> DumpMeter::open_graph() {
  if (plain_.empty()) return nullptr;
  auto made = BoardGraph::on(meter_, {.categories = plain_, .precision = precision_});
  if (made) return std::make_shared<DumpGraph>(*std::move(made));
  notices_->inform_once("no graph", [&] { return "tensors in CUDA graphs have no rows: " + made.error().message; });
  return nullptr;
}

void DumpMeter::take_from_board(PendingTensor& tensor) {
  const auto measurements =
      tensor.ticket->collect();  // the ticket stays: this is called again if memory is short elsewhere
  if (measurements) {
    tensor.statistics = in_columns(Statistics(measurements->front().statistics));
    ++on_device_count_;
    return;
  }
  note(measurements.error());
  if (tensor.keep_alive != nullptr) return;
  notices_->warn_once("lost on the board", [&] {
    return "a tensor could not be measured behind its queue; its row is missing: " + measurements.error().message;
  });
}

void DumpMeter::measure(std::span<PendingTensor* const> tensors) {
  for (std::size_t first = 0; first < tensors.size(); first += kBatch) {
    struct Batch {
      std::vector<Tensor> tensors{};
      std::vector<PendingTensor*> whose{};
    };
    Batch anywhere, on_gpus, on_the_host;
    for (std::size_t i = first; i < std::min(tensors.size(), first + kBatch); ++i) {
      PendingTensor& tensor = *tensors[i];
      if (tensor.ticket && !tensor.statistics) take_from_board(tensor);
      if (tensor.statistics || (tensor.ticket && tensor.keep_alive == nullptr)) continue;
      if (tensor.stored == Stored::kPlain) {
        Batch& batch = is_in_gpu_memory(tensor.tensor.where) ? on_gpus : tensor.is_borrowed ? on_the_host : anywhere;
        batch.tensors.push_back(tensor.tensor);
        batch.whose.push_back(&tensor);
      } else if (tensor.stored == Stored::kInt4 || tensor.stored == Stored::kUint1) {
        tensor.statistics = measure_packed(tensor);
        if (tensor.statistics && !all_.empty()) ++on_host_count_;
      } else {
        notices_->warn_once("complex", "complex tensors have no statistics, and no rows");
      }
    }
    for (const Batch* batch : {&anywhere, &on_gpus, &on_the_host}) {
      auto statistics = ask(batch->tensors, all_,
                            batch == &anywhere  ? on_
                            : batch == &on_gpus ? on_gpus_
                                                : On::kHost,
                            Counted::kByPlace);
      for (std::size_t i = 0; i < statistics.size(); ++i) {
        if (statistics[i]) batch->whose[i]->statistics = in_columns(*std::move(statistics[i]));
      }
    }
  }
}

// If a batch fails, its tensors are measured one by one, at last on the host alone. One bad tensor or a failing device
// must not cost the others their rows.
std::vector<std::optional<Statistics>> DumpMeter::ask(std::span<const Tensor> tensors, const Categories& categories,
                                                      On on, Counted counted) {
  std::vector<std::optional<Statistics>> results(tensors.size());
  if (categories.empty()) std::ranges::fill(results, Statistics{});
  if (tensors.empty() || categories.empty()) return results;
  const Request request{categories, precision_, on};
  const auto measurements = meter_.measure(tensors, request);
  if (measurements) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      results[i] = Statistics((*measurements)[i].statistics);
      count((*measurements)[i], tensors[i], on, counted);
    }
    return results;
  }
  note(measurements.error());
  const auto on_host = [&](Counted now) { return now == Counted::kNot ? now : Counted::kAsFallenBack; };
  // The device only reads, so the tensor is unchanged and the host can measure it.
  if (measurements.error().code == Code::kInUse && on != On::kHost) {
    return ask(tensors, categories, On::kHost, on_host(counted));
  }
  if (tensors.size() == 1 && on == On::kHost) {
    notices_->warn_once("unmeasured", [&] {
      return "a tensor could not be measured; its row is missing: " + measurements.error().message;
    });
    return results;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_last_try = tensors.size() == 1;
    results[i] = ask(tensors.subspan(i, 1), categories, is_last_try ? On::kHost : on,
                     is_last_try ? on_host(counted) : counted)[0];
  }
  return results;
}

void DumpMeter::count(const Measurement& measured, const Tensor& tensor, On on, Counted counted) {
  if (counted == Counted::kNot) return;
  // Digests are the host's wherever the statistics are made.
  const bool is_on_device =
      std::ranges::any_of(measured.placement, [](const Decision& each) { return each.engine != "host"; });
  ++(is_on_device ? on_device_count_ : on_host_count_);
  const bool is_read_back = on != On::kHost && !is_readable_by_cpu(tensor.where) && !plain_.empty();
  if (!is_on_device && (is_read_back || counted == Counted::kAsFallenBack)) ++fallen_back_count_;
}

DumpMeter::Places DumpMeter::places() const {
  return {on_device_count_, on_host_count_, fallen_back_count_, meter_.device_memory()};
}

void DumpMeter::note(const Error& error) {
  if (error.code != Code::kInUse) return;
  left_in_use_ = true;
  notices_->warn_once(
      "in use",
      "the device may still read tensors of this dump: their memory is kept until the process ends, and "
      "from now on the host measures");
}

// Digests cover the packed bytes, because these are the tensor's own bytes. Other statistics are of the unpacked
// values.
std::optional<Statistics> DumpMeter::measure_packed(const PendingTensor& tensor) {
  Room room;
  const auto packed = bits(tensor, room);
  if (!packed) {
    notices_->warn_once("unread packed", [&] {
      return "a tensor of " + std::string(data_type(tensor)) +
             " could not be read; its row is missing: " + packed.error().message;
    });
    return std::nullopt;
  }
  const bool is_signed = tensor.stored == Stored::kInt4;
  std::string values;
  widen(is_signed ? Widening::kInt4 : Widening::kUint1, *packed, 0, tensor.value_count, values);
  const Tensor unpacked{
      .dtype = is_signed ? Dtype::kInt8 : Dtype::kUint8, .element_count = tensor.value_count, .address = values.data()};
  Tensor bytes = tensor.tensor;
  bytes.address = packed->data();
  bytes.offset_bytes = 0;
  bytes.where = Where::kHost;
  auto statistics = ask({&unpacked, 1}, plain_, On::kHost)[0];
  const auto digests = ask({&bytes, 1}, digests_, On::kHost)[0];
  if (!statistics || !digests) return std::nullopt;
  statistics->categories.insert(statistics->categories.end(), digests_.begin(), digests_.end());
  statistics->values.insert(statistics->values.end(), digests->values.begin(), digests->values.end());
  return in_columns(*std::move(statistics));
}

Statistics DumpMeter::in_columns(Statistics statistics) const {
  if (statistics.categories == columns_) return statistics;
  Statistics row{columns_, {}};
  row.values.reserve(columns_.size());
  for (const Category category : columns_) row.values.push_back(*statistics.find(category));
  return row;
}

Status DumpMeter::copy(Tensor& tensor, std::span<std::byte> to) {
  Tensor whole = tensor;
  if (tensor.strides != nullptr) {
    whole.element_count = 1;
    for (const std::uint64_t dimension : tensor.strides->shape) whole.element_count *= dimension;
  }
  if (Status read = meter_.read(whole, 0, to); !read) return read;
  tensor.address = to.data();
  tensor.offset_bytes = 0;
  tensor.strides = nullptr;
  tensor.where = Where::kHost;
  return {};
}

Result<std::span<const std::byte>> DumpMeter::bits(const PendingTensor& tensor, Room& room) {
  const std::size_t size = tensor.tensor.bytes();
  if (is_readable_by_cpu(tensor.tensor.where)) {
    return std::span(tensor.tensor.data(), size);
  }
  room = std::make_unique<std::vector<std::byte>>(size);
  if (Status read = meter_.read(tensor.tensor, 0, *room); !read) {
    note(read.error());
    if (read.error().code == Code::kInUse) abandon(std::move(room));  // the device may still write into `room`
    return read.error();
  }
  return std::span<const std::byte>(*room);
}

}  // namespace tensorstat
