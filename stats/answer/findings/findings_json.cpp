#include <tensorstat/findings.hpp>

#include "stats/core/base/float_environment.hpp"
#include "stats/data/json/json_writer.hpp"

namespace tensorstat {
namespace {

void write_texts(JsonWriter& json, const std::vector<std::string>& texts) {
  json.begin_list();
  for (const std::string& text : texts) json.text(text);
  json.end();
}

void write_number(JsonWriter& json, std::optional<double> number) {
  if (number) {
    json.value(*number);
  } else {
    json.null();
  }
}

void write_finding(JsonWriter& json, const Finding& finding) {
  json.begin_object();
  json.key("rule").text(name(finding.rule)).key("severity").text(name(severity(finding.rule)));
  json.key("op_type").text_or_null(finding.op_type).key("op_name").text_or_null(finding.op_name);
  json.key("io").text_or_null(finding.io).key("slot").number(finding.slot).key("rank").number(finding.rank);
  json.key("first_iteration").number(finding.first_iteration);
  json.key("last_clean_iteration").number_or_null(finding.last_clean_iteration);
  json.key("value");
  write_number(json, finding.value);
  json.key("limit");
  write_number(json, finding.limit);
  json.key("others").number(finding.others).key("text").text(finding.text).key("next").text(finding.next);
  json.key("definition").text(definition(finding.rule)).end();
}

}  // namespace

std::string json_of(const Findings& findings) {
  const FloatEnvironment ieee;
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("schema_version").number(1);
  json.key("verdict").text(findings.verdict.empty() ? "" : findings.verdict.front());
  json.key("sentences");
  write_texts(json, findings.verdict);
  json.key("findings").begin_lines();
  for (const Finding& finding : findings.list) write_finding(json, finding);
  json.end().key("notes");
  write_texts(json, findings.notes);
  json.key("measured").begin_object().key("rows").number(findings.rows).key("tensors").number(findings.tensors);
  json.key("ranks").begin_list();
  for (const std::uint32_t rank : findings.ranks) json.number(rank);
  json.end().key("first_iteration").number_or_null(findings.first_iteration);
  json.key("last_iteration").number_or_null(findings.last_iteration).end().key("not_measured");
  write_texts(json, findings.not_measured);
  json.end();
  return text + "\n";
}

}  // namespace tensorstat
