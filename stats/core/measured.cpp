#include "stats/core/measured.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "stats/core/finish.hpp"

namespace tensorstat {

namespace {

bool has_lists(std::span<const Category> categories) {
  return std::ranges::any_of(categories, [](Category each) { return kind(each) == ValueKind::kList; });
}

}  // namespace

Measurements::State::State(std::span<const Category> asked, std::size_t tensor_count)
    : size(tensor_count),
      categories(asked.begin(), asked.end()),
      values(static_cast<Value*>(::operator new(tensor_count * asked.size() * sizeof(Value))),
             Free{has_lists(asked) ? tensor_count * asked.size() : 0}) {
  std::uninitialized_value_construct_n(values.get(), values.get_deleter().built);
  for (std::size_t i = 0; i < categories.size(); ++i) {
    if ((needs(categories[i]) & kDigests) != 0) digest_columns.push_back(i);
  }
}

void Measurements::State::put(std::size_t tensor, Dtype dtype, const Found& found, const Wanted& wanted) {
  Value* const first = values_of(tensor).data();
  if (wanted.partial) try {
    finish({dtype, wanted.precision, static_cast<Needs>(wanted.needs & ~kDigests), found.words, found.bins},
           categories, first);
  } catch (const std::bad_alloc&) {
    lacks_memory = true;
  }
  for (const std::size_t i : digest_columns) {
    const Needs digest = needs(categories[i]);
    if ((wanted.needs & digest) == 0) continue;
    const std::optional<Digest>& had = digest == kMd5Digest ? found.md5 : found.sha1;
    std::construct_at(first + i, had ? Value(*had) : Value());
  }
}

void Measurements::State::place(std::vector<Placed> all, std::vector<std::uint32_t> of_tensor) {
  if (lacks_memory) throw std::bad_alloc();
  placements = std::move(all);
  placement_of = std::move(of_tensor);
  decisions.reserve(placements.size() * categories.size());
  for (const Placed& placed : placements) {
    for (const Category category : categories) {
      if ((needs(category) & kDigests) != 0) {
        decisions.push_back({category, "host", "a digest is serial: host work"});
      } else {
        decisions.push_back({category, placed.engine, placed.reason.text()});
      }
    }
  }
}

Measurements::Measurements(std::unique_ptr<State> state) : state_(std::move(state)) {}
Measurements::Measurements(Measurements&&) noexcept = default;
Measurements& Measurements::operator=(Measurements&&) noexcept = default;
Measurements::~Measurements() = default;

std::size_t Measurements::size() const { return state_->size; }

Measurement Measurements::operator[](std::size_t tensor) const {
  const std::size_t categories = state_->categories.size();
  const std::size_t placed = state_->placement_of.empty() ? 0 : state_->placement_of[tensor];
  return {{state_->categories, state_->values_of(tensor)},
          std::span(state_->decisions).subspan(placed * categories, categories),
          state_->placements[placed].device_bytes};
}

}  // namespace tensorstat
