#include "stats/answer/origin/lists.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat::origin_rules {
namespace {

class Listing {
 public:
  Listing(const Record& record, const FaultChoice& choice, const Walked& walked, Telling& telling, Origin& lists)
      : record_(record), choice_(choice), walked_(walked), telling_(telling), lists_(lists) {}

  void add(const Fault& fault, bool is_told) {
    const FaultVerdict verdict = telling_.verdict(fault);
    const bool is_sure = fault.kind == FaultKind::kProduced && walked_.model.form != Form::kWatch;
    const bool is_beginning = !fault.is_received && (!is_told || is_sure);
    if (is_beginning) {
      list_of(fault.kind)
          .push_back(source(verdict.row, verdict.guilty, verdict.inputs, fault_in(record_, row(verdict.row), choice_)));
      if (verdict.turned_by.is_named()) {
        Specials nan = fault_in(record_, row(fault.turned_row), choice_);
        nan.inf = 0;
        const Call& call = walked_.model.calls[fault.turned_by];
        lists_.turned.push_back(source(first_output(call, fault.turned_row), verdict.turned_by, call.inputs, nan));
      }
    }
    std::vector<std::uint32_t> carriers = fault.carriers;
    std::ranges::sort(carriers);
    carriers.erase(std::unique(carriers.begin(), carriers.end()), carriers.end());
    for (const std::uint32_t carrier : carriers) {
      const Call& call = walked_.model.calls[carrier];
      const std::uint32_t output = first_output(call, kNoRow);
      if (output == kNoRow ||
          (is_beginning && (output == verdict.row || (verdict.wrote_inf.is_named() && output < verdict.row))))
        continue;
      lists_.propagators.push_back(source(output, named(call), {}, fault_in(record_, row(output), choice_)));
    }
  }

 private:
  const RecordRow& row(std::uint32_t index) const { return record_.rows()[index]; }
  NamedCall named(const Call& call) const {
    return {std::string(record_.texts()[call.op_type]), std::string(record_.texts()[call.name])};
  }

  std::uint32_t first_output(const Call& call, std::uint32_t otherwise) const {
    const auto first = std::ranges::find_if(
        call.outputs, [&](std::uint32_t output) { return fault_in(record_, row(output), choice_).any(); });
    return first == call.outputs.end() ? otherwise : *first;
  }

  Source source(std::uint32_t index, NamedCall guilty, std::vector<std::uint32_t> inputs,
                const Specials& specials) const {
    return {.run = row(index).run,
            .row = index,
            .specials = specials,
            .guilty = std::move(guilty),
            .inputs = std::move(inputs)};
  }

  std::vector<Source>& list_of(FaultKind kind) {
    if (kind == FaultKind::kUnknown) return lists_.unknown;
    return kind == FaultKind::kEntered || kind == FaultKind::kParameter ? lists_.entered : lists_.producers;
  }

  const Record& record_;
  const FaultChoice& choice_;
  const Walked& walked_;
  Telling& telling_;
  Origin& lists_;
};

}  // namespace

void add_to_lists(const Record& record, const FaultChoice& choice, const Walked& walked, const Fault& fault,
                  Telling& telling, Origin& lists) {
  Listing(record, choice, walked, telling, lists).add(fault, false);
}

void add_to_lists(const Record& record, const FaultChoice& choice, const Walked& walked, Telling& telling, bool is_told,
                  Origin& lists) {
  Listing listing(record, choice, walked, telling, lists);
  if (walked.verdict != nullptr) listing.add(*walked.verdict, is_told);
  for (const Fault& fault : walked.faults) {
    if (&fault != walked.verdict && fault.is_open) listing.add(fault, is_told);
  }
}

}  // namespace tensorstat::origin_rules
