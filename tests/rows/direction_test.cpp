// The pass of a training that a row's name tells, of every writer of names.
#include "stats/data/rows/names/direction.hpp"

#include <gtest/gtest.h>

#include "stats/answer/findings/series_rules.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace direction_test {

struct Case {
  const char *name, *stem, *number;
  Direction direction;
};

TEST(Direction, IsToldByTheName) {
  for (const Case& each :
       {Case{"layers.6/forward", "layers.6", "", Direction::kForward},
        Case{"layers.6/backward", "layers.6", "", Direction::kBackward},
        Case{"layers_6_backward", "layers_6", "", Direction::kBackward},
        Case{"layers.6/eval", "layers.6", "", Direction::kEvaluation},
        Case{"Functional.log.0.forward", "Functional.log.0", "", Direction::kForward},
        Case{"Functional.log.0.backward", "Functional.log.0", "", Direction::kBackward},
        Case{"Module.a.Linear.backward.12", "Module.a.Linear", "12", Direction::kBackward},
        Case{"Module.backward.Linear.forward.0", "Module.backward.Linear", "0", Direction::kForward},
        Case{"Module.a.Linear.parameters_grad", "Module.a.Linear", "", Direction::kParameterGradients},
        Case{"Module.a.Linear.parameters_grad.0", "Module.a.Linear", "0", Direction::kParameterGradients},
        Case{"Gradients/Default/Mul-op1", "Gradients/Default/Mul-op1", "", Direction::kBackward},
        Case{"Gradients_Default_Mul-op1", "Gradients_Default_Mul-op1", "", Direction::kBackward},
        Case{"Default/network/Mul-op1", "Default/network/Mul-op1", "", Direction::kUntold},
        Case{"GradientsOfMine/Mul-op1", "GradientsOfMine/Mul-op1", "", Direction::kUntold},
        Case{"backward", "backward", "", Direction::kUntold}, Case{"", "", "", Direction::kUntold}}) {
    const DirectedName name = directed_name_of(each.name);
    EXPECT_EQ(name.stem, each.stem) << each.name;
    EXPECT_EQ(name.number, each.number) << each.name;
    EXPECT_EQ(name.direction, each.direction) << each.name;
    const bool is_back = each.direction == Direction::kBackward || each.direction == Direction::kParameterGradients;
    EXPECT_EQ(is_of_backward(each.name), is_back) << each.name;
    // Rows of MindSpore up to 2.7 have escaped names: report must not take their gradients for outputs of the forward.
    History history;
    const std::string escaped =
        std::string(each.name).find('/') == std::string::npos ? each.name : escaped_op_name(each.name);
    const HistorySeries& series = history.add(
        {.op_type = "Op", .op_name = escaped, .dtype = "float32", .shape = "(3)", .place = {}, .statistics = {}});
    EXPECT_EQ(kind_of(history, series), is_back ? TensorKind::kBackward : TensorKind::kForward) << escaped;
  }
  EXPECT_EQ(forward_name_of("a.b/backward"), "a.b/forward");
  EXPECT_EQ(forward_name_of("Functional.log.0.backward"), "Functional.log.0.backward");
}

}  // namespace direction_test
}  // namespace tensorstat
