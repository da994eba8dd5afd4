// What stands around the tensors of a call in msprobe's dump.json.
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

// The members of a call, with marks where its tensors stand. All else, such as arguments that are no tensors and how
// they are nested, is kept to the byte.
class CallLayout {
 public:
  // A mark is this byte, which no JSON has, i or o, the slot of the input or output, and this byte.
  static constexpr char kMark = '\x01';
  static std::string mark(bool is_output, std::uint64_t slot) {
    return kMark + std::string(is_output ? "o" : "i") + std::to_string(slot) + kMark;
  }

  // Members behind those that are there: an object as Python's json.dumps(indent=1) writes it, but for the marks. An
  // error: it is none, and nothing was taken.
  Status add(std::string_view object);

  bool is_known() const { return is_known_; }  // add() has taken something

  // Where a tensor stands, in msprobe's words: "input.0", "output.0.logits", "parameters.weight"; "" where it has no
  // place.
  std::string place_of(bool is_output, std::uint64_t slot) const;
  std::size_t tensor_count() const { return places_.size(); }

  // The object for the margin, with the text of each tensor in its place: null where `leaf_of` gives none. Only the
  // members that are wanted.
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
