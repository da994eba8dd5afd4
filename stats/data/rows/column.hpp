// The list of all columns that are not statistics. Every dialect uses it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// The member of a row that holds a cell; none for a column of Identity::more.
template <typename T>
struct Place {
  T Identity::*in_identity = nullptr;
  T Row::*in_row = nullptr;

  const T* of(const Row& row) const {
    return in_identity ? &(row.identity.*in_identity) : in_row ? &(row.*in_row) : nullptr;
  }
  T* of(Row& row) const { return in_identity ? &(row.identity.*in_identity) : in_row ? &(row.*in_row) : nullptr; }
};

enum class ColumnKind : std::uint8_t { kText, kNumber, kIo, kShape, kDataType };

struct Column {
  std::string_view name;     // "task_id"
  std::string_view heading;  // "Task ID", unless a dialect has its own
  ColumnKind kind;
  Place<std::string> text = {};         // kText, kIo and kDataType
  Place<std::uint64_t> number = {};     // kNumber
  bool is_further = false;              // stored in Identity::more
  std::uint64_t greatest = UINT64_MAX;  // kNumber
};

// To add a column: a row here, and an entry in each dialect that has it.
inline constexpr Column kColumns[] = {
    {"op_type", "Op Type", ColumnKind::kText, {&Identity::op_type}},
    {"op_name", "Op Name", ColumnKind::kText, {&Identity::op_name}},
    {"task_id", "Task ID", ColumnKind::kNumber, {}, {&Identity::task_id}},
    {"stream_id", "Stream ID", ColumnKind::kNumber, {}, {&Identity::stream_id}},
    {"timestamp", "Timestamp", ColumnKind::kNumber, {}, {&Identity::timestamp_us}},
    {"io", "IO", ColumnKind::kIo, {&Identity::io}},
    {"slot", "Slot", ColumnKind::kNumber, {}, {&Identity::slot}},
    {"data_size", "Data Size", ColumnKind::kNumber, {}, {nullptr, &Row::data_size_bytes}},
    {"data_type", "Data Type", ColumnKind::kDataType, {nullptr, &Row::data_type}},
    {"shape", "Shape", ColumnKind::kShape},
    // The columns of Identity::more.
    {.name = "path", .heading = "Path", .kind = ColumnKind::kText, .is_further = true},
    {.name = "rank", .heading = "Rank", .kind = ColumnKind::kNumber, .is_further = true, .greatest = UINT32_MAX},
    {.name = "graph", .heading = "Graph", .kind = ColumnKind::kNumber, .is_further = true, .greatest = UINT32_MAX},
    {.name = "iteration", .heading = "Iteration", .kind = ColumnKind::kNumber, .is_further = true},
    {.name = "tensor", .heading = "Tensor", .kind = ColumnKind::kText, .is_further = true},
    {.name = "index", .heading = "Index", .kind = ColumnKind::kText, .is_further = true},
    {.name = "shard", .heading = "Shard", .kind = ColumnKind::kText, .is_further = true},
    {.name = "cast_scale", .heading = "Cast Scale", .kind = ColumnKind::kText, .is_further = true},
    {.name = "format", .heading = "Format", .kind = ColumnKind::kText, .is_further = true},
    {.name = "crc32", .heading = "CRC32", .kind = ColumnKind::kText, .is_further = true},
    {.name = "xor", .heading = "XOR", .kind = ColumnKind::kText, .is_further = true},
    {.name = "requires_grad", .heading = "Requires Grad", .kind = ColumnKind::kText, .is_further = true},
};

// nullptr if the name is unknown.
constexpr const Column* column_named(std::string_view name) {
  for (const Column& column : kColumns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

// The columns of Identity::more.
std::span<const Column> all_further_columns();

// "rank,iteration": each of further_columns(), once. The error lists the known ones.
Result<std::vector<std::string>> further_columns_from(std::string_view comma_separated);

}  // namespace tensorstat
