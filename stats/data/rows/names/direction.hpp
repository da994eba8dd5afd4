// Which pass of a training a row's name tells: forward or backward. Nothing else decides this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tensorstat {

enum class Direction : std::uint8_t { kUntold, kForward, kEvaluation, kBackward, kParameterGradients };

// The endings that a watch appends to the path of a module.
inline constexpr std::string_view kForwardEnding = "/forward", kBackwardEnding = "/backward", kEvalEnding = "/eval";

// The parts of a call's name. Views of the name that was given.
//   watch      "layers.6/backward", in escaped names "layers_6_backward": the stem is "layers.6"
//   msprobe    "Functional.log.0.forward", "Module.a.Linear.backward.0", "Module.a.Linear.parameters_grad.0": the stem
//              ends before the direction; the number of a module's call, which stands behind it, is apart
//   MindSpore  "Gradients/..." of a graph, "Gradients_..." where names are escaped (up to 2.7): the stem is the name
struct DirectedName {
  enum class Writer : std::uint8_t { kOther, kWatch, kMsprobe, kGraph };

  std::string_view stem, number = {};
  Direction direction = Direction::kUntold;
  Writer writer = Writer::kOther;
};
DirectedName directed_name_of(std::string_view op_name);

// Whether the call ran in backward, or the row has gradients that backward made of parameters.
inline bool is_of_backward(std::string_view op_name) {
  const Direction direction = directed_name_of(op_name).direction;
  return direction == Direction::kBackward || direction == Direction::kParameterGradients;
}

// The name of the forward of a watch's call: "layers.6/forward" of "layers.6/backward". Other names stay.
std::string forward_name_of(std::string_view op_name);

}  // namespace tensorstat
