// The text around the tensors of a call in msprobe's dump.json.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>
#include <vector>

namespace tensorstat {

// The members of a call, with marks in place of its tensors. Everything else, such as other arguments and the nesting,
// is kept byte for byte.
class CallLayout {
 public:
  // A mark is this byte, which JSON never contains, then i or o, the slot of the input or output, and this byte again.
  // Marks stand in the text itself, because a layout is one argument of a C function (tensorstat_collect_call), and its
  // bytes go into dump.json as they are.
  static constexpr char kMark = '\x01';
  static std::string mark(bool is_output, std::uint64_t slot) {
    return kMark + std::string(is_output ? "o" : "i") + std::to_string(slot) + kMark;
  }

  // Appends the members of `object`, which is written like Python's json.dumps(indent=1), with marks. On an error
  // nothing is appended.
  Status add(std::string_view object);

  bool is_known() const { return is_known_; }  // add() has succeeded

  // The place of a tensor, in msprobe's words: "input.0", "output.0.logits", "parameters.weight"; "" if it has none.
  std::string place_of(bool is_output, std::uint64_t slot) const;
  std::size_t tensor_count() const { return places_.size(); }

  // The object's text at the left margin, with the wanted members only and each tensor's text in its place; null if
  // `leaf_of` has none.
  using LeafOf = std::function<const std::string*(bool is_output, std::uint64_t slot)>;
  std::string text(const LeafOf& leaf_of, const std::function<bool(std::string_view member)>& wants) const;

 private:
  using Places = std::map<std::pair<bool, std::uint64_t>, std::string>;
  struct Member {
    std::string name, text;
  };
  class Lines;

  std::vector<Member> members_;
  Places places_;
  bool is_known_ = false;
};

}  // namespace tensorstat
