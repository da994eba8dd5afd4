// The sentence of an alert has what the alert has, and no more.
#include <gtest/gtest.h>

#include <string>
#include <tensorstat/alerts.hpp>

namespace tensorstat {
namespace alert_text_test {

TEST(AlertText, IsOneSentence) {
  Alert alert;
  alert.step = 812;
  alert.op_name = "layer.7/forward";
  alert.io = "output";
  alert.condition = "l2norm > 100";
  EXPECT_EQ(to_sentence(alert), "step 812: layer.7/forward output 0, condition l2norm > 100");
  alert.rank = 3;
  alert.statistic = "l2norm";
  alert.value = Value(4e9);
  alert.tensor_count = 2;
  EXPECT_EQ(to_sentence(alert),
            "step 812, rank 3: layer.7/forward output 0: l2norm is 4e+09, condition l2norm > 100; and 1 more tensor");
  alert.tensor_count = 4;
  alert.file = "/jobs/train.py";
  alert.line = 17;
  alert.folder = "/dumps/event_812";
  alert.saved = {"a.npy"};
  alert.not_saved = {"input 0 is too large"};
  EXPECT_EQ(
      to_sentence(alert),
      "step 812, rank 3: layer.7/forward output 0 (train.py:17): l2norm is 4e+09, condition l2norm > 100; and 3 more "
      "tensors; /dumps/event_812, with 1 saved tensor; input 0 is too large");
}

}  // namespace alert_text_test
}  // namespace tensorstat
