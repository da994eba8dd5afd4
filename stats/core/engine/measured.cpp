#include "stats/core/engine/measured.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <tensorstat/catalog.inc>
#include <utility>

#include "stats/core/engine/finish.hpp"

namespace tensorstat {

namespace {

// Only categories with the need kExponents have lists as values.
#define ROW(id, name, column, kind, in_all, of_complex, needs, ...) \
  static_assert(ValueKind::kind != ValueKind::kList || ((needs)&kExponents) != 0);
TENSORSTAT_CATEGORIES(ROW)
#undef ROW
bool has_lists(Needs needs) { return (needs & kExponents) != 0; }

// The arrays follow the State in the same block, without gaps.
static_assert(alignof(Value) >= alignof(Decision) && alignof(Decision) >= alignof(Category));
static_assert(alignof(Value) <= alignof(std::max_align_t));

}  // namespace

std::unique_ptr<Measurements::State> Measurements::State::make(std::span<const Category> asked, Needs needs,
                                                               std::size_t tensor_count) {
  static_assert(sizeof(State) % alignof(Value) == 0);
  const Arrays behind{asked.size() * (tensor_count * sizeof(Value) + sizeof(Decision) + sizeof(Category))};
  return std::unique_ptr<State>(new (behind) State(asked, needs, tensor_count));
}

Measurements::State::State(std::span<const Category> asked, Needs needs, std::size_t tensor_count)
    : size(tensor_count),
      values(reinterpret_cast<Value*>(this + 1)),
      decisions(reinterpret_cast<Decision*>(values + tensor_count * asked.size())),
      categories(reinterpret_cast<Category*>(decisions + asked.size()), asked.size()),
      built(has_lists(needs) ? tensor_count * asked.size() : 0) {
  std::ranges::uninitialized_copy(asked, categories);
  std::uninitialized_value_construct_n(values, built);
  for (std::size_t i = 0; (needs & kDigests) != 0 && i < categories.size(); ++i) {
    if (is_digest(categories[i])) digest_columns.push_back(i);
  }
}

void Measurements::State::put(std::size_t tensor, Dtype dtype, const TensorResult& outcome, const Wanted& wanted) {
  Value* const first = values_of(tensor).data();
  if (wanted.partial) try {
      finish({dtype, wanted.precision, static_cast<Needs>(wanted.needs & ~kDigests), outcome.words, outcome.bins},
             categories, first);
    } catch (const std::bad_alloc&) {
      lacks_memory = true;
    }
  for (const std::size_t i : digest_columns) {
    const Needs digest = needs(categories[i]);
    if ((wanted.needs & digest) == 0) continue;
    const std::optional<Digest>& had = digest == kMd5Digest ? outcome.md5 : outcome.sha1;
    std::construct_at(first + i, had ? Value(*had) : Value());
  }
}

void Measurements::State::decide(const Placed& placed, Decision* to) const {
  const std::string_view engine = placed.engine, why = placed.reason.text();
  for (std::size_t i = 0; i < categories.size(); ++i) std::construct_at(to + i, Decision{categories[i], engine, why});
  for (const std::size_t i : digest_columns) to[i] = {categories[i], "host", "a digest is serial: host work"};
}

void Measurements::State::set_placement(Placed all) {
  if (lacks_memory) throw std::bad_alloc();
  one = std::move(all);
  decide(one, decisions);
}

void Measurements::State::set_placement(std::vector<Placed> all, std::vector<std::uint32_t> of_tensor) {
  if (lacks_memory) throw std::bad_alloc();
  several = std::move(all);
  placement_of = std::move(of_tensor);
  several_decisions.resize(several.size() * categories.size());
  Decision* to = several_decisions.data();
  for (const Placed& placed : several) {
    decide(placed, to);
    to += categories.size();
  }
}

Measurements::Measurements(std::unique_ptr<State> state) : state_(std::move(state)) {}
Measurements::Measurements(Measurements&&) noexcept = default;
Measurements& Measurements::operator=(Measurements&&) noexcept = default;
Measurements::~Measurements() = default;

std::size_t Measurements::size() const { return state_->size; }

Measurement Measurements::operator[](std::size_t tensor) const {
  return {{state_->categories, state_->values_of(tensor)},
          state_->decisions_of(tensor),
          state_->placed(tensor).device_bytes};
}

}  // namespace tensorstat
