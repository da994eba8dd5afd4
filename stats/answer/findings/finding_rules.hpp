// The rules by which a run is judged. stats/doc/report.md gives the reason for each limit.
#pragma once

#include <string_view>
#include <tensorstat/findings.hpp>

namespace tensorstat {

struct FindingRuleFacts {
  FindingRule rule;
  std::string_view name;
  FindingSeverity severity;
  double limit;                 // the default; 0: the rule has none
  std::string_view definition;  // JSON has it; stats/doc/report.md says it at length
  std::string_view next;        // what to look at
  std::string_view needs;       // what must be measured for it
};

// "size" is rms, the root of the mean of squares; without l2norm it is the greatest magnitude. Only finite values
// count. A finding that begins within 5 iterations of a lasting NaN or Inf, on a rank that it reaches, is its
// consequence.
inline constexpr FindingRuleFacts kFindingRules[] = {
    {FindingRule::kNan, "nan", FindingSeverity::kError, 0, "NaN that did not end; by the rules of `tensorstat origin`",
     "tensorstat origin DUMP --all", "nan count, or max and min"},
    {FindingRule::kInf, "inf", FindingSeverity::kError, 0, "Inf that did not end; by the rules of `tensorstat origin`",
     "tensorstat origin DUMP --all", "inf counts, or max and min"},
    {FindingRule::kTurned, "turned", FindingSeverity::kError, 0,
     "the call that was given the Inf of the first finding and made NaN of it, as Inf - Inf does; by the rules of "
     "`tensorstat origin`",
     "tensorstat origin DUMP --all", "nan count, or max and min"},
    {FindingRule::kOverflow, "overflow", FindingSeverity::kWarning, 0.5,
     "a value of the forward pass is above this share of the greatest finite value of its dtype (float16, bfloat16, "
     "float32, float64), below that value, and was above 0 and below a quarter of the share before; a mask is at the "
     "greatest value",
     "would bfloat16 do? a smaller scale, or clipping", "max and min"},
    {FindingRule::kJump, "jump", FindingSeverity::kWarning, 10,
     "size is above this many times the median of its last 50 values, of which there are at least 20, more than three "
     "times as far from that median, in logarithms, as the greatest of them, or 50 times that greatest, and above a "
     "tenth of the greatest ever; not where the number of elements has just halved or doubled",
     "the batch of that iteration, and the learning rate", "l2norm, or max and min, of 21 iterations"},
    {FindingRule::kDrift, "drift", FindingSeverity::kWarning, 10,
     "size is above this many times the median of its values that are more than 50 iterations old, of which there are "
     "at least 150, and more than twice as far from that median, in logarithms, as the greatest of them, or 50 times "
     "that greatest; of an input of the model, five times in a row above that of its first 20 values",
     "of an input: what loads it; else the learning rate, weight decay and clipping",
     "l2norm, or max and min, of 201 iterations"},
    {FindingRule::kDead, "dead", FindingSeverity::kWarning, 10,
     "an output of the forward pass, or the gradient of a parameter, that held other values is all 0 for this many "
     "iterations, to the end; the output of a ReLU also if it is all 0 in all of at least 20 iterations, and that of a "
     "module if its gradients are, too",
     "the activation before it, and its bias", "max and min"},
    {FindingRule::kFrozen, "frozen", FindingSeverity::kNotice, 50,
     "a parameter that changed has equal max, min and l2norm for this many iterations, to the end, while three others "
     "of its rank change",
     "is it in the optimizer? is its update below half a step of its dtype?", "rows of parameters"},
    {FindingRule::kGone, "gone", FindingSeverity::kNotice, 20,
     "a tensor with a row in every iteration of its operator or parameter from its first one on, at least 20 of them, "
     "has none for this many of these iterations, to the end: a gradient whose parameter still has rows, or one output "
     "of a call",
     "requires_grad, and what the loss uses", "two tensors of one operator, or a parameter and its gradient"},
    {FindingRule::kUnwritten, "unwritten", FindingSeverity::kNotice, 50,
     "a parameter has a gradient other than 0 in this many iterations, to the end, and is written in no iteration, "
     "while three others of its rank are, in as many",
     "is it in the optimizer?", "rows of parameters and gradients, by watch(), of 50 iterations"},
    {FindingRule::kRanks, "ranks", FindingSeverity::kError, 0,
     "a parameter that was equal on two ranks differs in a bit of max, min, avg or l2norm, to the end",
     "the ranks' gradients after the reduction", "rows of parameters of two ranks"},
    {FindingRule::kStopped, "stopped", FindingSeverity::kWarning, 1,
     "a rank's rows end more than this many recorded iterations before those of the others", "that rank's log",
     "rows of two ranks"},
    {FindingRule::kReplica, "replica", FindingSeverity::kError, 0,
     "replicas of a tensor, which the watch compared by xor64, differ in a bit",
     "the memory of that rank, and what keeps the replicas equal", "watch(shards=...)"},
    {FindingRule::kStuck, "stuck", FindingSeverity::kNotice, 20,
     "a parameter is written and keeps all its statistics for this many steps, to the end, while its gradient is above "
     "a tenth of its greatest and above 2^-20 of the largest gradient of the step",
     "are updates below half a step of its dtype? keep it in float32, or round stochastically",
     "rows of parameters and gradients, by watch(), and finite values at the end"},
    {FindingRule::kUnreached, "unreached", FindingSeverity::kNotice, 20,
     "a parameter asks for a gradient, its module runs, and in this many steps, all there are, backward made none, "
     "while three others have one",
     "detach(), no_grad, reentrant checkpointing of an input without a gradient; is its result used?",
     "rows of gradients of 20 iterations, and what watch() says of parameters"},
    {FindingRule::kShrunk, "shrunk", FindingSeverity::kWarning, 1000,
     "in all of at least 20 steps the median gradient is divided by this and more between backward and the step, by a "
     "number that varies by 1 % and more, and the norm of all is below 0.002 then",
     "are gradients clipped before the scaler has unscaled them?",
     "rows of gradients, by watch(), that are changed before at least 20 steps"},
    {FindingRule::kMode, "mode", FindingSeverity::kWarning, 10,
     "a dropout or batch norm that trained is in eval mode for this many steps with gradients, to the end",
     "call train() behind the evaluation", "what watch() says of modules"},
};

inline constexpr const FindingRuleFacts& facts(FindingRule rule) { return kFindingRules[static_cast<int>(rule)]; }

// Origin's verdict says these; the rules of series say all others.
inline bool is_of_origin(FindingRule rule) { return rule <= FindingRule::kTurned; }

}  // namespace tensorstat
