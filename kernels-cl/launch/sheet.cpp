#include "kernels-cl/launch/sheet.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "kernels-cl/launch/batch.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat::cl_engine {
namespace {

// The first page holds some hundred tensors. Each further one is twice as long.
constexpr std::uint64_t kFirstPageBytes = std::uint64_t{64} << 10, kMostPageBytes = std::uint64_t{8} << 20;
// The most memory of a step.
constexpr std::uint64_t kMostSheetBytes = std::uint64_t{64} << 20;

}  // namespace

Status Sheet::open() {
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    if (Status status = upload(page, 0, pages_[page].partials_end, "emptying a board"); !status) return status;
  }
  return {};
}

Result<std::size_t> Sheet::page_for(std::size_t words) {
  if (!pages_.empty() && pages_.back().slices_begin - pages_.back().partials_end >= words) return pages_.size() - 1;
  std::uint64_t bytes_held = 0;
  for (const Page& page : pages_) bytes_held += page.words * kWordBytes;
  const std::uint64_t least = std::max<std::uint64_t>(words, 1) * kWordBytes;
  if (bytes_held + least > kMostSheetBytes) {
    is_full_ = true;
    return Error{Code::kOverBudget, "the board is full: it has " + std::to_string(bytes_held) + " bytes"};
  }
  std::uint64_t bytes =
      pages_.empty() ? kFirstPageBytes : std::min(pages_.back().words * kWordBytes * 2, kMostPageBytes);
  bytes = std::max(std::min(bytes, kMostSheetBytes - bytes_held), least);
  pages_.reserve(pages_.size() + 1);  // a page that was made has its place
  auto page = make_page(bytes, least);
  if (!page) return page.error();
  page->slices_begin = page->words;
  pages_.push_back(*page);
  return pages_.size() - 1;
}

// A spot has the words of a batch of this tensor alone: its slices are moved to the page's end, and what kernels write
// to the page's partials.
Result<std::size_t> Sheet::make_spot(const Task& task, std::uint64_t first_byte) {
  std::vector<Piece> pieces;
  Piece whole = task.piece(0, 0, task.count());
  whole.sources[0] = {nullptr, first_byte};
  cut(device_, whole, task.operands[0].bytes(), pieces);
  const BatchLayout layout(device_, std::move(pieces));
  Spot spot{.partial_words = task.kind.words(), .maxima = layout.maxima()};
  if (layout.words() != 0) {
    const auto number = page_for(layout.words());
    if (!number) return number.error();
    spot.page = *number;
    Page& page = pages_[*number];
    const std::size_t slices = layout.partials_at(), partials_at = page.partials_end,
                      slices_at = page.slices_begin - slices;
    const std::size_t moved = partials_at - slices;                 // wraps around, as offsets in words do
    auto words = std::make_unique<std::int64_t[]>(layout.words());  // zeros
    layout.fill(words.get(), base_of(page) + slices_at * kWordBytes);
    spot.launches.reserve(layout.launches().size());
    for (const BatchLayout::Launch& each : layout.launches()) {
      spot.launches.push_back({slices_at + each.slices_at, moved + each.partials_at, layout.pieces(each).size()});
    }
    for (BatchLayout::Target target : layout.targets()) {
      target.words_at += moved;
      target.count_at += moved;
      spot.targets.push_back(target);
    }
    const auto from = [&](std::size_t word) { return words.get() + word; };
    std::copy(from(0), from(slices), page.image + slices_at);
    std::copy(from(slices), from(layout.words()), page.image + partials_at);
    page.partials_end += layout.words() - slices;
    page.slices_begin = slices_at;
    Status status = upload(spot.page, slices_at, slices_at + slices, "giving a board its slices");
    if (status) status = upload(spot.page, partials_at, page.partials_end, "giving a board its partials");
    if (!status) return status.error();
  }
  spots_.push_back(std::move(spot));
  return spots_.size() - 1;
}

Result<std::size_t> Sheet::fold(const Task& task, std::uint64_t first_byte, const Enqueue& enqueue) {
  Shelf& shelf = shelves_[{task.kind, first_byte, task.count()}];
  if (shelf.used == shelf.spots.size()) {
    shelf.spots.reserve(shelf.used + 1);  // so that push_back does not fail
    const auto made = make_spot(task, first_byte);
    if (!made) return made.error();
    shelf.spots.push_back(*made);
  }
  const std::size_t number = shelf.spots[shelf.used];
  const Spot& spot = spots_[number];
  for (const Launch& each : spot.launches) {
    if (Status status = enqueue(spot.page, each); !status) {
      // Launches before this one may write to the spot, and so may this one if a later call failed.
      shelf.spots.erase(shelf.spots.begin() + static_cast<std::ptrdiff_t>(shelf.used));
      return status.error();
    }
  }
  ++shelf.used;
  ++used_;
  return number;
}

bool Sheet::is_written(const Spot& spot, std::int64_t* image) {
  return std::ranges::all_of(spot.targets, [&](const BatchLayout::Target& target) { return target.is_written(image); });
}

bool Sheet::results_are_there() const {
  for (const auto& [key, shelf] : shelves_) {
    for (std::size_t i = 0; i < shelf.used; ++i) {
      const Spot& spot = spots_[shelf.spots[i]];
      if (!spot.targets.empty() && !is_written(spot, pages_[spot.page].image)) return false;
    }
  }
  return true;
}

Status Sheet::merge_into(std::size_t fold, Partial& partial) const {
  if (has_failed()) return failure();
  std::vector<std::int64_t*> images;
  for (const Page& page : pages_) images.push_back(page.image);
  return merge_from(images, fold, partial);
}

Status Sheet::merge_from(std::span<std::int64_t* const> images, std::size_t fold, Partial& partial) const {
  const Spot& spot = spots_[fold];
  if (spot.targets.empty()) return {};
  std::int64_t* const image = images[spot.page];
  if (!is_written(spot, image)) {
    return Error{Code::kDevice, "a kernel left no result, though no call failed"};
  }
  for (const BatchLayout::Target& target : spot.targets) {
    const std::span<const std::int64_t> words(image + target.words_at, spot.partial_words);
    merge_words(partial, words, target.first_element, spot.maxima);
  }
  return {};
}

void Sheet::empty(const Spot& spot) {
  for (const BatchLayout::Target& target : spot.targets) {
    std::fill_n(pages_[spot.page].image + target.words_at, spot.partial_words, 0);
  }
}

bool Sheet::clear() {
  if (is_under_way() || has_failed()) return false;
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

}  // namespace tensorstat::cl_engine
