#include "stats/show/page/page.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <tensorstat/catalog.hpp>
#include <utility>
#include <vector>

#include "stats/data/json/json_writer.hpp"
#include "stats/data/rules/subject.hpp"
#include "stats/show/page/packed.hpp"
#include "stats/show/page/texts.hpp"

namespace tensorstat {
namespace {

// Size limits of a page with more than one statistic: up to two million cells, and beyond.
constexpr std::size_t kSmallPage = 500'000, kTwoMillion = 2'100'000, kFewBytes = 4'000'000, kMostBytes = 16'000'000;

// The codes of a plane. data.js has the same numbers.
constexpr std::uint16_t kMissing = 0, kZero = 1, kNanCode = 2, kUp = 3, kDown = 4, kFirstCode = 16, kNegative = 0x8000;
constexpr double kMostSteps = 32'000;

std::string base64_of_hexadecimal(std::string_view hexadecimal) {
  std::string bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    bytes += static_cast<char>(digit(hexadecimal[i]) * 16 + digit(hexadecimal[i + 1]));
  }
  return base64(bytes);
}

Result<std::string> block(std::string_view id, std::string_view bytes) {
  auto small = deflated(bytes);
  if (!small) return small.error();
  std::string text = "<script type=\"application/octet-stream\" id=\"";
  text.append(id);
  return text + "\">" + base64(*small) + "</script>\n";
}

struct EncodedPlane {
  double low = 0, step = 1.0 / 128;
  // Differences of each code from the one before it, modulo 2^16: 0, -1, 1, -2 ... as 0, 1, 2, 3. A tensor changes
  // little from iteration to iteration. The upper bytes, then the lower ones: so they deflate better.
  std::string bytes;
};

EncodedPlane encoded(const PageContents::Plane& plane, double step) {
  EncodedPlane out{.low = 0, .step = step, .bytes = {}};
  double low = INFINITY, high = -INFINITY;
  for (std::size_t i = 0; i < plane.values.size(); ++i) {
    const double size = std::fabs(plane.values[i]);
    if (plane.has[i] == 0 || !std::isfinite(size) || size == 0) continue;
    low = std::min(low, size);
    high = std::max(high, size);
  }
  if (low <= high) {
    out.low = std::floor(std::log2(low));
    while ((std::log2(high) - out.low) / out.step > kMostSteps) out.step *= 2;
  }
  const std::size_t count = plane.values.size();
  out.bytes.resize(count * 2);
  std::uint16_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = plane.values[i];
    std::uint16_t code = kMissing;
    if (plane.has[i] != 0) {
      if (std::isnan(value)) {
        code = kNanCode;
      } else if (std::isinf(value)) {
        code = value > 0 ? kUp : kDown;
      } else if (value == 0) {
        code = kZero;
      } else {
        code = static_cast<std::uint16_t>(kFirstCode + std::lround((std::log2(std::fabs(value)) - out.low) / out.step));
        if (value < 0) code |= kNegative;
      }
    }
    const auto difference = static_cast<std::int16_t>(static_cast<std::uint16_t>(code - last));
    const auto folded = static_cast<std::uint16_t>(difference < 0 ? -2 * difference - 1 : 2 * difference);
    last = code;
    out.bytes[i] = static_cast<char>(folded >> 8);
    out.bytes[count + i] = static_cast<char>(folded & 255);
  }
  return out;
}

std::size_t most_bytes_of(const PageContents& contents) {
  return contents.faults.size() <= kTwoMillion ? kFewBytes : kMostBytes;
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_list();
  for (const std::string& text : texts) json.text(text);
  json.end();
}

void write_finding(JsonWriter& json, const PageFinding& finding) {
  json.begin_object();
  json.key("rule").text(finding.rule).key("severity").text(finding.severity).key("op_name").text(finding.op_name);
  json.key("rank").number_or_null(finding.rank);
  json.key("first_iteration").number_or_null(finding.first_iteration);
  json.key("last_clean_iteration").number_or_null(finding.last_clean_iteration);
  json.key("text").text(finding.text).key("next").text(finding.next);
  json.key("run").number(finding.run).key("tensor").raw(finding.tensor ? std::to_string(*finding.tensor) : "-1");
  json.end();
}

std::string head_of(const PageContents& contents, const std::vector<std::pair<std::string, EncodedPlane>>& planes,
                    const std::vector<std::string>& left_out) {
  std::string head;
  JsonWriter json(head);
  const PageWords& words = contents.words;
  json.begin_object().key("version").text(version()).key("source").text(words.source);
  json.key("rows").number(contents.row_count);
  std::string verdict;
  for (const std::string& sentence : words.verdict) verdict += (verdict.empty() ? "" : "\n") + sentence;
  json.key("verdict").text(verdict).key("findings").begin_list();
  for (const PageFinding& finding : words.findings) write_finding(json, finding);
  json.end();
  json.key("parting").raw(words.parting ? std::to_string(*words.parting) : "-1");
  write_texts(json, "measured", contents.measured);
  write_texts(json, "not_measured", words.not_measured);
  std::vector<std::string> notes = words.notes;
  for (const std::string& name : left_out) {
    notes.push_back(name + " is left out, because the page would be larger than " +
                    std::to_string(most_bytes_of(contents) / 1'000'000) + " MB with it.");
  }
  write_texts(json, "notes", notes);
  json.key("tensors").begin_list();
  for (const PageTensor& tensor : contents.tensors) {
    json.begin_list().text(tensor.type).text(tensor.name).text(tensor.io).text(tensor.dtype).text(tensor.shape);
    json.number(tensor.most_elements).end();
  }
  json.end();
  json.key("exponents").begin_list();
  for (const PageContents::ExponentSeries& series : contents.exponent_series) {
    json.begin_list().number(series.tensor).number(series.lane).raw(std::to_string(series.lowest));
    json.number(series.binades).end();
  }
  json.end();
  write_texts(json, "subjects", subject_names(About::kTensors));
  write_texts(json, "runs", contents.runs);
  json.key("lane_runs").begin_list();
  for (const PageContents::Lane& lane : contents.lanes) json.number(lane.run);
  json.end().key("pooled").number(contents.pooled).key("follow").number(words.follow_seconds);
  json.key("ranks").begin_list();
  for (const PageContents::Lane& lane : contents.lanes) json.number(lane.rank);
  json.end().key("iterations").begin_list();
  for (const std::uint64_t iteration : contents.iterations) json.number(iteration);
  json.end().key("statistics").begin_list();
  std::size_t loss_plane = 0;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    json.begin_object().key("name").text(planes[i].first);
    json.key("low").value(planes[i].second.low).key("step").value(planes[i].second.step).end();
    if (planes[i].first == "avg") loss_plane = i;
  }
  json.end().key("limits").begin_object();
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (const auto end = greatest_finite(dtype)) json.key(name(dtype)).value(*end);
  }
  json.end().key("loss").raw(contents.loss ? std::to_string(*contents.loss) : "-1");
  json.key("loss_statistic").number(loss_plane).key("exact").begin_list();
  for (const PageContents::Exact& exact : contents.exact) {
    json.begin_list().number(exact.cell);
    for (std::size_t i = 0; i < planes.size(); ++i) json.text(exact.texts[i]);
    json.end();
  }
  json.end().end();
  return head;
}

std::string_view bytes_of(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status write_page(const PageContents& contents, const std::function<Status(std::string_view piece)>& sink) {
  auto faults = block("faults", bytes_of(contents.faults));
  if (!faults) return faults.error();
  auto exponents = block("exponents", bytes_of(contents.exponents));
  if (!exponents) return exponents.error();
  std::vector<std::string> blocks = {*std::move(faults), *std::move(exponents)};
  std::vector<std::pair<std::string, EncodedPlane>> planes;
  std::vector<std::string> left_out;
  std::size_t size = blocks[0].size() + blocks[1].size();
  for (const PageContents::Plane& plane : contents.planes) {
    // In a large run all statistics but the first have half the resolution, so that more of them fit.
    EncodedPlane codes = encoded(plane, planes.empty() || contents.faults.size() <= kSmallPage ? 1.0 / 128 : 1.0 / 64);
    auto text = left_out.empty() ? block("plane" + std::to_string(planes.size()), codes.bytes) : std::string();
    if (!text) return text.error();
    if (!left_out.empty() || (!planes.empty() && size + text->size() > most_bytes_of(contents))) {
      left_out.push_back(plane.name);
      continue;
    }
    size += text->size();
    blocks.push_back(*std::move(text));
    codes.bytes = {};
    planes.emplace_back(plane.name, std::move(codes));
  }
  // The head holds values as they were written, too: it may need the place of the last statistic.
  constexpr std::size_t kCode = 70'000;
  auto head = block("head", head_of(contents, planes, left_out));
  while (head && planes.size() > 1 && size + head->size() + kCode > most_bytes_of(contents)) {
    size -= blocks.back().size();
    blocks.pop_back();
    left_out.insert(left_out.begin(), planes.back().first);
    planes.pop_back();
    head = block("head", head_of(contents, planes, left_out));
  }
  if (!head) return head.error();
  blocks.insert(blocks.begin(), *std::move(head));

  // The page's own text, with what belongs between two '@' put in.
  std::string_view rest = page::kHtml;
  while (!rest.empty()) {
    const auto begin = rest.find('@');
    const auto end = begin == rest.npos ? rest.npos : rest.find('@', begin + 1);
    Status written = sink(rest.substr(0, begin));
    if (!written || end == rest.npos) return written;
    const std::string_view name = rest.substr(begin + 1, end - begin - 1);
    if (name == "style-hash") written = sink("sha256-" + base64_of_hexadecimal(page::kStyleHash));
    if (name == "script-hash") written = sink("sha256-" + base64_of_hexadecimal(page::kScriptHash));
    if (name == "style") written = sink(page::kStyle);
    if (name == "script") {
      for (const std::string_view piece : page::scripts()) written = written ? sink(piece) : written;
    }
    if (name == "blocks") {
      for (const std::string& text : blocks) written = written ? sink(text) : written;
    }
    if (!written) return written;
    rest.remove_prefix(end + 1);
  }
  return Status();
}

}  // namespace tensorstat
