// Kernels of the double of CUDA's driver. A module is a text that names a dtype and needs, and its kernel folds each
// slice with the reference lift.
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels-cl/program/definition.hpp"
#include "precision/partial.h"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/pair_layout.hpp"
#include "tests/device/fake_gpu.hpp"
#include "tests/device/group_fold.hpp"
#include "tests/support/planted_ptx.hpp"

namespace fake_gpu {
namespace {

std::byte* at(std::uint64_t pointer, std::size_t bytes) {
  auto* const memory = memory_at(pointer, bytes);
  return memory == nullptr ? nullptr : memory->second.content.data() + (pointer - memory->first);
}

// As a kernel does, with the definition of a fold. Slices outside of memory are left out.
void fold_slice(const Module& module, std::uint64_t group, std::uint64_t source, std::uint64_t workspace,
                std::uint64_t slices_at, std::uint64_t partials_at) {
  using namespace tensorstat;
  const auto dtype = static_cast<Dtype>(module.dtype);
  const std::size_t words = partial_words(dtype, module.needs);
  std::array<std::uint64_t, 5> slice{};  // first byte, count, partial, bins, casts
  const std::byte* const from = at(workspace + slices_at + group * sizeof slice, sizeof slice);
  if (from == nullptr) return;
  std::memcpy(slice.data(), from, sizeof slice);
  const std::size_t bytes = bytes_of(dtype, slice[1]);
  const std::byte* const elements = at(source + slice[0], bytes);
  std::byte* const to = at(workspace + partials_at + slice[2] * words * 8, words * 8);
  if (elements == nullptr || to == nullptr) return;
  std::vector<std::int64_t> result(words);
  std::memcpy(result.data(), to, words * 8);
  test::fold_as_a_group(dtype, module.needs, {elements, bytes}, slice[1], state().is_wrong, result);
  std::memcpy(to, result.data(), words * 8);
}

// The same for two tensors. `values`: the workspace, slices_at, partials_at, rtol, atol, and whether the scale is the
// greater of the two.
void compare_slice(const Module& module, std::uint64_t group, std::span<const std::uint64_t> values) {
  using namespace tensorstat;
  const auto a = static_cast<Dtype>(module.dtype), b = static_cast<Dtype>(module.needs);
  const PairTolerance tolerance{std::bit_cast<double>(values[3]), std::bit_cast<double>(values[4]),
                                values[5] != 0 ? PairTolerance::Scale::kGreater : PairTolerance::Scale::kB};
  std::array<std::uint64_t, 5> slice{};  // first byte of each, count, first element, partial
  const std::byte* const from = at(values[0] + values[1] + group * sizeof slice, sizeof slice);
  if (from == nullptr) return;
  std::memcpy(slice.data(), from, sizeof slice);
  const std::size_t bytes_a = bytes_of(a, slice[2]), bytes_b = bytes_of(b, slice[2]);
  const std::byte *const of_a = at(slice[0], bytes_a), *const of_b = at(slice[1], bytes_b);
  PairPartial lifted(a, b, tolerance), result = lifted;
  const std::size_t bytes = lifted.words().size() * 8;
  std::byte* const to = at(values[0] + values[2] + slice[4] * bytes, bytes);
  if (of_a == nullptr || of_b == nullptr || to == nullptr) return;
  cl_engine::lift_pairs(a, {of_a, bytes_a}, b, {of_b, bytes_b}, tolerance, slice[3], lifted.words());
  if (state().is_wrong) ++lifted.words()[PAIR_FIELDS];
  merge(pair_layout(a, b), result.words(), lifted.words());
  std::memcpy(to, result.words().data(), bytes);
}

}  // namespace
}  // namespace fake_gpu

using namespace fake_gpu;

extern "C" {

int cuModuleLoadData(void** module, const void* image) {
  ENTER();
  unsafe();
  waits();
  if (current_context() == nullptr) return kInvalidContext;
  auto made = std::make_unique<Module>();
  const auto* const text = static_cast<const char*>(image);
  made->is_of_pairs = std::sscanf(text, "pair %u %u", &made->dtype, &made->needs) == 2;
  if (!made->is_of_pairs && std::sscanf(text, "fold %u %u", &made->dtype, &made->needs) != 2) return kInvalidPtx;
  *module = made.get();
  state().modules.insert(std::move(made));
  return kSuccess;
}
int cuModuleUnload(void* module) {
  const std::lock_guard lock(state().mutex);
  unsafe();
  const bool was_there = erase(state().modules, module);
  const int code = counted();
  return was_there ? code : kInvalidHandle;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER();
  *function = module;
  return std::strcmp(name, "fold") == 0 ? kSuccess : kInvalidValue;
}
int cuLaunchKernel(void* function, unsigned groups, unsigned y, unsigned z, unsigned lanes, unsigned lanes_y,
                   unsigned lanes_z, unsigned shared_bytes, void* stream, void** arguments, void** extra) {
  ENTER();
  Stream* const target = stream_of(stream);
  const bool is_sound = groups != 0 && y == 1 && z == 1 && lanes == 256 && lanes_y == 1 && lanes_z == 1 &&
                        shared_bytes == 0 && arguments != nullptr && extra == nullptr;
  if (target == nullptr || !is_current(target->device)) return kInvalidHandle;
  if (!is_sound) return kInvalidValue;
  const Module module = *static_cast<const Module*>(function);
  std::vector<std::uint64_t> values(module.is_of_pairs ? 8 : 4);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], arguments[i], sizeof values[i]);
  if (module.is_of_pairs && (values[0] != 0 || values[1] != 0)) return kInvalidValue;  // slices have addresses
  const long number = ++state().launches;
  if (number == state().loses_launch) return kSuccess;
  put(*target, [=, is_captured = target->graph != nullptr] {
    const std::uint64_t workspace = values[module.is_of_pairs ? 2 : 1];
    if (is_captured && memory_at(workspace, 1) == nullptr) state().has_broken_a_capture = true;  // it was freed
    for (std::uint64_t group = 0; group < groups; ++group) {
      if (module.is_of_pairs) {
        compare_slice(module, group, std::span(values).subspan(2));
      } else {
        fold_slice(module, group, values[0], values[1], values[2], values[3]);
      }
    }
  });
  return kSuccess;
}
long fake_gpu_launches() { return state().launches; }
// The nth launch from now on succeeds, and its kernel never runs; 0: none.
void fake_gpu_lose_launch(long nth) { state().loses_launch = nth == 0 ? 0 : state().launches + nth; }
// The largest allocation that succeeds.
void fake_gpu_most_memory(std::size_t bytes) { state().most_memory = bytes; }
// One bit of each fold is wrong.
void fake_gpu_is_wrong(int is_wrong) { state().is_wrong = is_wrong != 0; }
// The kernel of a dtype and of statistics, such as "max,nan count", in the cache on disk. 0: there are none of that
// name.
int fake_gpu_plant(const char* dtype, const char* statistics) {
  const auto type = tensorstat::dtype_from(dtype);
  const auto categories = tensorstat::categories_from(statistics);
  if (type && categories) tensorstat::test::plant(*type, *categories);
  return type && categories ? 1 : 0;
}
}
