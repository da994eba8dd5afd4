// The result of a comparison or of a search for NaN, in JSON.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "stats/answer/compare/compared.hpp"
#include "stats/answer/origin/origin.hpp"
#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {

// A tensor by its file ("x.npz::w"), or by its operator ("Default/Conv2D-op1.output.0").
std::string label_of(const Record& record, const RecordRow& row);

// {schema_version, compared, different, unmatched_a: [...], unmatched_b: [...], left_out: {a: {reason: rows}, b:
// {...}}, pairs: [{a, b, verdict, why, op_type, op_name, rank, iteration, io, slot, stats: {name: {a, b}}, elements:
// {cosine, max abs diff, unequal, outside,
// ...}}]}, elements where they were compared: every statistic of <tensorstat/pair.inc>, and with Compared::first first:
// [{op_type, op_name, rank, iteration, io, slot, added, enters, phase, inside: [names], file, line}]; file and line are
// null where they are not known. A beginning with only_in "b" is a row of B.
// `shown`: these pairs instead of all.
std::string json_of(const Compared& compared, std::optional<std::span<const Pair>> shown = {});
// Each of these pairs on a line of its own.
std::string json_lines_of(const Compared& compared, std::span<const Pair> shown);

// {schema_version, verdict: {kind, op_type, op_name, phase, rank, iteration, io, slot, last_clean_iteration, file,
// line, operation, inside: [names], sentence, details: [texts]}, notes: [texts], producers: [{op_type, op_name, rank,
// iteration, io, slot, nan, inf, before: [...], inputs: [...]}], entered: [...], turned: [...], propagators: [...]}.
// The lists before propagators have one form. nan and inf are counts; null: it is there but was not counted. Unknown
// values of a verdict are null. With kind none only kind, sentence and details are not null.
std::string json_of(const Record& record, const Answer& answer);

}  // namespace tensorstat
