// Folds the columns of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/thread_pool.hpp"
#include "stats/core/engine/needs.hpp"

namespace tensorstat::host {

// Folds column i of a contiguous matrix, with `lines` lines of columns.size() elements, into columns[i], after the
// elements that this holds. All partials have the same dtype, precision and needs.
void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns, ThreadPool& pool);

}  // namespace tensorstat::host
