// A row of statistics and the tensor that it describes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// The other side of a compared tensor, and the result.
struct PairedTensor {
  StatisticsView statistics;               // of B
  std::string label, data_type;            // of B
  std::span<const Value> elements = {};    // by PairStatistic; empty if the elements were not compared
  Value greatest_a = {}, greatest_b = {};  // of elements that were compared: both where they differ most
  bool by_parts = false;                   // complex elements were compared as their parts
  std::string verdict = {}, why = {};      // "different"; "max", or "shape (2,3) and (3,2)"
  double apart = 0;                        // the greatest relative difference of a statistic or element
};

struct TensorRow {
  std::string path;                   // of the file
  std::optional<std::string> tensor;  // its name, if the file is a container
  Row row;
  std::optional<Shape> index = {};       // if the row describes a part of the tensor (--by): the index of the part
  const PairedTensor* paired = nullptr;  // if the row is side A of a comparison
  // DumpTensor::differs_over, if the replicas of the tensor were compared.
  std::optional<std::string_view> differs_over = {};

  // "model.npz::layer.weight[3,5]", or of a block "model.npz::layer.weight[21] (5,128:256)"
  std::string label() const;
};

// "21 (5,128:256)": the number of a block, the indices before it, and its elements. `place`: of its first element.
std::string block_text(std::uint64_t number, const Shape& place, std::uint64_t elements);

// "3,5"
std::string index_text(const Shape& index);

}  // namespace tensorstat
