// Columns of a matrix, folded beside each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tensorstat/partial.hpp>

#include "host/thread_pool.hpp"

namespace tensorstat::host {

// Folds `lines` lines of columns.size() elements, one line behind another, each column into the partial of its index,
// behind what this holds. All partials are of one dtype, precision and needs.
void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns, ThreadPool& pool);

}  // namespace tensorstat::host
