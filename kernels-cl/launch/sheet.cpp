#include "kernels-cl/launch/sheet.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "kernels-cl/launch/arguments.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::cl_engine {
namespace {

// The first page holds some hundred tensors. Each further one is twice as long.
constexpr std::uint64_t kFirstPageBytes = std::uint64_t{64} << 10, kMostPageBytes = std::uint64_t{8} << 20;
// The most memory of a step.
constexpr std::uint64_t kMostSheetBytes = std::uint64_t{64} << 20;

}  // namespace

std::uint64_t Sheet::held_bytes() const {
  std::uint64_t bytes = 0;
  for (const Page& page : pages_) bytes += page.memory.bytes;
  return bytes;
}

Status Sheet::upload(const Page& page, std::size_t first, std::size_t end, const char* what) {
  if (in_place() || first == end) return {};
  const cl_int code = clEnqueueWriteBuffer(context_.queue()(), page.memory.memory(), CL_FALSE, first * kWordBytes,
                                           (end - first) * kWordBytes, page.image.get() + first, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return error(what, "clEnqueueWriteBuffer", code);
  is_under_way_ = true;
  return {};
}

Status Sheet::open() {
  done_.clear();
  for (const Page& page : pages_) {
    if (Status status = upload(page, 0, page.partials_end, "emptying a board"); !status) return status;
  }
  return {};
}

Result<std::size_t> Sheet::page_for(std::size_t words) {
  if (!pages_.empty() && pages_.back().slices_begin - pages_.back().partials_end >= words) return pages_.size() - 1;
  std::uint64_t held = 0;
  for (const Page& page : pages_) held += page.words * kWordBytes;
  const std::uint64_t least = std::max<std::uint64_t>(words, 1) * kWordBytes;
  if (held + least > kMostSheetBytes) {
    is_full_ = true;
    return Error{Code::kOverBudget, "the board is full: it has " + std::to_string(held) + " bytes"};
  }
  std::uint64_t bytes =
      pages_.empty() ? kFirstPageBytes : std::min(pages_.back().words * kWordBytes * 2, kMostPageBytes);
  bytes = std::max(std::min(bytes, kMostSheetBytes - held), least);
  Page page;
  while (!in_place()) {
    auto memory = context_.buffers().take(bytes, "a board");
    if (memory) {
      page.memory = *std::move(memory);
      break;
    }
    if (memory.error().code != Code::kOverBudget || bytes == least) return memory.error();
    bytes = std::max(bytes / 2 / kWordBytes * kWordBytes, least);
  }
  page.words = page.slices_begin = bytes / kWordBytes;
  try {
    done_.reserve(pages_.size() + 1);  // close() must not throw
    page.image = std::make_unique<std::int64_t[]>(page.words);
    pages_.push_back(std::move(page));
  } catch (const std::bad_alloc&) {
    if (page.memory.bytes != 0) context_.buffers().give_back(std::move(page.memory));
    throw;
  }
  return pages_.size() - 1;
}

// A spot has the words of a batch of this tensor alone: its slices are moved to the page's end, and what kernels write
// to the page's partials.
Result<std::size_t> Sheet::make_spot(const Task& task) {
  std::vector<Piece> pieces;
  Piece whole = task.piece(0, 0, task.count());
  whole.sources[0] = source_of(task.operands[0]);
  cut(context_.device(), whole, task.operands[0].bytes(), pieces);
  const BatchLayout layout(context_.device(), std::move(pieces));
  Spot spot{.partial_words = task.kind.words(), .dtype = task.kind.dtype};
  if (layout.words() != 0) {
    const auto found = page_for(layout.words());
    if (!found) return found.error();
    spot.page = *found;
    Page& page = pages_[*found];
    const std::size_t slices = layout.partials_at(), partials_at = page.partials_end,
                      slices_at = page.slices_begin - slices;
    const std::size_t moved = partials_at - slices;  // wraps around, as offsets in words do
    auto words = std::make_unique<std::int64_t[]>(layout.words());
    layout.fill(words.get(), base_of(page) + moved * kWordBytes);
    spot.launches.reserve(layout.launches().size());
    for (const BatchLayout::Launch& each : layout.launches()) {
      spot.launches.push_back({slices_at + each.slices_at, moved + each.partials_at, layout.pieces(each).size()});
    }
    for (BatchLayout::Target target : layout.targets()) {
      target.words_at += moved;
      target.count_at += moved;
      spot.targets.push_back(target);
    }
    const auto from = [&](std::size_t at) { return words.get() + at; };
    std::copy(from(0), from(slices), page.image.get() + slices_at);
    std::copy(from(slices), from(layout.words()), page.image.get() + partials_at);
    page.partials_end += layout.words() - slices;
    page.slices_begin = slices_at;
    Status status = upload(page, slices_at, slices_at + slices, "giving a board its slices");
    if (status) status = upload(page, partials_at, page.partials_end, "giving a board its partials");
    if (!status) return status.error();
  }
  spots_.push_back(std::move(spot));
  return spots_.size() - 1;
}

Status Sheet::launch(const Spot& spot, cl_mem source, Kernel& kernel) {
  const Page* const page = spot.launches.empty() ? nullptr : &pages_[spot.page];
  for (const Launch& each : spot.launches) {
    const cl::Kernel& chosen = kernel.of_memory;
    const std::lock_guard lock(kernel.arguments);
    cl_int code = CL_SUCCESS;
    set_argument(code, chosen, 0, source);
    set_argument(code, chosen, 1, page->memory.memory());
    set_argument(code, chosen, 2, base_of(*page) + each.slices_at * kWordBytes);
    set_argument(code, chosen, 3, base_of(*page) + each.partials_at * kWordBytes);
    const std::size_t local = context_.device().group_size, global = each.slices * local;
    if (code == CL_SUCCESS) {
      code = clEnqueueNDRangeKernel(context_.queue()(), chosen(), 1, nullptr, &global, &local, 0, nullptr, nullptr);
    }
    if (code != CL_SUCCESS) {
      return error("folding on a board of " + context_.device().info.name, "clEnqueueNDRangeKernel or its arguments",
                   code);
    }
    is_under_way_ = true;
  }
  return {};
}

Result<std::size_t> Sheet::fold(const Task& task, Kernel& kernel) {
  const Source source = source_of(task.operands[0]);
  Shelf& shelf = shelves_[{task.kind, source.first_byte, task.count()}];
  if (shelf.used == shelf.spots.size()) {
    shelf.spots.reserve(shelf.used + 1);  // so that push_back does not fail
    const auto made = make_spot(task);
    if (!made) return made.error();
    shelf.spots.push_back(*made);
  }
  const std::size_t spot = shelf.spots[shelf.used];
  if (Status status = launch(spots_[spot], source.memory, kernel); !status) {
    // The launches before the one that failed may have written to the spot.
    if (spots_[spot].launches.size() > 1)
      shelf.spots.erase(shelf.spots.begin() + static_cast<std::ptrdiff_t>(shelf.used));
    return status.error();
  }
  ++shelf.used;
  ++used_;
  return spot;
}

void Sheet::close() noexcept {
  if (!is_under_way_) return;
  const cl_command_queue queue = context_.queue()();
  if (in_place()) {
    call_ = "clEnqueueMarkerWithWaitList";
    code_ = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &done_.emplace_back()());
  }
  for (const Page& page : pages_) {
    if (in_place() || page.partials_end == 0 || code_ != CL_SUCCESS) continue;
    call_ = "clEnqueueReadBuffer";
    code_ = clEnqueueReadBuffer(queue, page.memory.memory(), CL_FALSE, 0, page.partials_end * kWordBytes,
                                page.image.get(), 0, nullptr, &done_.emplace_back()());
  }
  if (code_ != CL_SUCCESS) return;
  call_ = "clFlush";
  code_ = clFlush(queue);
}

Status Sheet::wait() { return come_to_end() ? Status{} : Status(failure()); }

Error Sheet::failure() const {
  Error why = error("reading a board", call_, code_);
  if (is_in_use_) why.code = Code::kInUse;
  return why;
}

bool Sheet::come_to_end() noexcept {
  if (done_.empty() && code_ == CL_SUCCESS) close();
  if (!is_under_way_) return code_ == CL_SUCCESS;
  for (std::size_t i = 0; code_ == CL_SUCCESS && i < done_.size(); ++i) {
    call_ = "clWaitForEvents";
    code_ = clWaitForEvents(1, &done_[i]());
  }
  is_under_way_ = false;
  if (code_ != CL_SUCCESS) settle();
  return code_ == CL_SUCCESS;
}

bool Sheet::is_written(const Spot& spot) const {
  return std::ranges::all_of(spot.targets, [&](const BatchLayout::Target& target) {
    return target.is_written(pages_[spot.page].image.get());
  });
}

// For a device in the host's address space, as in Batch.
bool Sheet::results_are_there() const {
  for (const auto& [key, shelf] : shelves_) {
    for (std::size_t i = 0; i < shelf.used; ++i) {
      if (!is_written(spots_[shelf.spots[i]])) return false;
    }
  }
  return true;
}

// After a failure: waits until nothing is under way, as Batch does. Launches have no events here, so the pages tell.
void Sheet::settle() noexcept {
  for (Page& page : pages_) page.memory.memory = {};  // from here on only the commands hold it
  const std::array<cl::Event, 1> never;
  const auto is_deleted = [](const Page& page) { return page.memory.witness.deleted(); };
  const Rest rest = come_to_rest(context_.queue(), never, [&] {
    return in_place() ? results_are_there() : std::ranges::all_of(pages_, is_deleted);
  });
  is_in_use_ = rest == Rest::kUnknown;
  for (Page& page : pages_) {
    if (!is_in_use_ && !in_place()) context_.buffers().forget(page.memory.bytes);
    // If the counts are there, other words may still be on their way.
    if (is_in_use_ || in_place()) keep_for_ever(page.image.release());
    page.memory = {};
  }
}

Status Sheet::merge_into(std::size_t fold, Partial& partial) const {
  if (code_ != CL_SUCCESS) return failure();
  const Spot& spot = spots_[fold];
  if (!is_written(spot)) {
    return Error{Code::kDevice, "a kernel left no result, though no call failed"};
  }
  for (const BatchLayout::Target& target : spot.targets) {
    const std::span<const std::int64_t> words(pages_[spot.page].image.get() + target.words_at, spot.partial_words);
    merge_words(partial, words, target.first_element);
  }
  return {};
}

// Work-groups merge into these words, work-items overwrite them. See BatchLayout::fill.
void Sheet::empty(const Spot& spot) {
  for (const BatchLayout::Target& target : spot.targets) {
    std::int64_t* const image = pages_[spot.page].image.get();
    if (context_.device().shape == Shape::kGroup) {
      tensorstat::clear(layout(spot.dtype), {image + target.words_at, spot.partial_words});
    }
    image[target.count_at] = 0;
  }
}

bool Sheet::clear() {
  if (is_under_way_ || code_ != CL_SUCCESS) return false;
  // Where shapes change from step to step, spots would be made and never used again.
  if (is_full_ || spots_.size() > 2 * used_ + 16) {
    shelves_.clear();
    spots_.clear();
    for (Page& page : pages_) {
      page.partials_end = 0;
      page.slices_begin = page.words;
    }
    is_full_ = false;
  }
  for (auto& [key, shelf] : shelves_) {
    for (std::size_t i = 0; i < shelf.used; ++i) empty(spots_[shelf.spots[i]]);
    shelf.used = 0;
  }
  used_ = 0;
  return true;
}

Sheet::~Sheet() {
  static_cast<void>(come_to_end());
  for (Page& page : pages_) {
    if (page.memory.bytes != 0) context_.buffers().give_back(std::move(page.memory));
  }
}

}  // namespace tensorstat::cl_engine
