// Shortens names of tensors for a narrow table.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tensorstat::cli {

// kWholeWords: the words between . / and :, or else _, that most names share are left out, in every name the same ones:
// "…5.mlp.down_proj…" of model.layers.5.mlp.down_proj.weight. Of names that are still too long, words of more than 24
// letters lose their middle. kInWords: then shorter words, too.
enum class CutNames { kWholeWords, kInWords };

// The names, none wider than `columns`. No digit is cut, and different names stay different; nullopt if that leaves no
// way.
std::optional<std::vector<std::string>> cut_names(std::span<const std::string> names, std::size_t columns,
                                                  CutNames how);

}  // namespace tensorstat::cli
