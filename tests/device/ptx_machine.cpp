#include "tests/device/ptx_machine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "tests/device/ptx_values.hpp"

namespace ptx {
namespace {

enum Opcode {
  kAdd,
  kSub,
  kMul,
  kFma,
  kNeg,
  kAbs,
  kAnd,
  kOr,
  kXor,
  kNot,
  kShl,
  kShr,
  kMin,
  kMax,
  kBfe,
  kSelp,
  kSetp,
  kMov,
  kCvt,
  kLd,
  kSt,
  kAtom,
  kBar,
  kBra,
  kRet,
  kCall,
  kDp4a,
  kPrmt,
  kClz,
  kMad,
  kUnpack
};
constexpr std::array<const char*, kUnpack> kNames = {
    "add",  "sub",  "mul", "fma", "neg", "abs", "and",  "or",  "xor", "not", "shl",  "shr",  "min",  "max", "bfe",
    "selp", "setp", "mov", "cvt", "ld",  "st",  "atom", "bar", "bra", "ret", "call", "dp4a", "prmt", "clz", "mad"};

bool marked(const Instruction& instruction, const char* suffix) {
  return std::ranges::find(instruction.suffixes, suffix) != instruction.suffixes.end();
}

std::string trimmed(std::string text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!text.empty() && space(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, space));
  return text;
}

std::vector<std::string> split(const std::string& text, const char* separators) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find_first_of(separators, begin)) != text.npos; begin = end + 1) {
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

// The names of the function that is being parsed.
struct Program::Names {
  std::string function;
  std::map<std::string, std::uint32_t> registers, parameters;
  std::map<std::string, u64> shared;  // shared memory and constants: offsets, each in its own memory
  std::map<std::string, std::size_t> labels;
  std::vector<std::pair<std::size_t, std::string>> jumps;

  std::uint32_t parameter(const std::string& name, Program& program) {
    const auto [entry, fresh] = parameters.try_emplace(name, program.parameter_bytes_);
    if (fresh) program.parameter_bytes_ += 8;
    return entry->second;
  }
};

Program::Program(std::string_view text) {
  std::string plain;  // without comments
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") i = std::min(text.find('\n', i), text.size() - 1);
    plain += text[i];
  }
  Names names;
  std::string pending;
  int vector_braces = 0;
  for (const char c : plain) {
    const std::string so_far = trimmed(pending);
    if (c == '{' && !so_far.empty() && so_far.find(".entry") == so_far.npos && so_far.find(".func") == so_far.npos) {
      ++vector_braces;
    } else if (c == '}' && vector_braces > 0) {
      --vector_braces;
    } else if (c == ';' || c == '{' || c == '}' ||
               (c == '\n' && so_far.starts_with(".") && so_far.find('(') == so_far.npos &&
                so_far.find(".entry") == so_far.npos && so_far.find(".func") == so_far.npos)) {
      if (!so_far.empty()) statement(so_far, names);
      pending.clear();
      continue;
    } else if (c == ':' && so_far.find('.') == so_far.npos) {  // not in ld.global.nc.L1::no_allocate
      names.labels[so_far] = code_.size();
      pending.clear();
      continue;
    }
    pending += c;
  }
  for (const auto& [jump, label] : names.jumps) {
    const auto function = entries_.find(label);
    if (names.labels.count(label) != 0) {
      code_[jump].target = names.labels.at(label);
    } else if (function != entries_.end()) {
      code_[jump].target = function->second;
      for (std::size_t i = 0; i < code_[jump].arguments.size(); i += 2)
        code_[jump].arguments[i + 1] = parameters_.at(label).at(i / 2);
    } else {
      refuse("nothing is called " + label);
    }
  }
}

void Program::statement(std::string text, Names& names) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  if (text.find(".entry") != text.npos || text.starts_with(".func")) {
    const std::vector<std::string> words = split(text, " (),");
    names.registers.clear();
    std::size_t i = 0;
    while (i < words.size() && words[i][0] == '.') ++i;
    names.function = words.at(i);
    entries_[names.function] = code_.size();
    std::vector<std::uint32_t> own;
    for (++i; i < words.size(); ++i) {
      if (words[i][0] != '.') own.push_back(names.parameter(words[i], *this));
    }
    parameters_[names.function] = own;
    return;
  }
  if (text.starts_with(".shared")) {
    const std::vector<std::string> words = split(text, " []");
    const bool array = text.find('[') != text.npos;
    const std::string& name = array ? words[words.size() - 2] : words.back();
    shared_bytes_ = (shared_bytes_ + 15) / 16 * 16;
    names.shared[name] = shared_bytes_;
    shared_bytes_ += array ? static_cast<std::uint32_t>(std::stoul(words.back())) : 8;
    return;
  }
  if (const std::size_t brace = text.find('{');
      text.find(".const ") != text.npos && brace != text.npos) {  // a table of bytes
    const std::vector<std::string> words = split(text.substr(0, text.find('[')), " ");
    constants_.resize((constants_.size() + 15) / 16 * 16);
    names.shared[words.back()] = constants_.size();
    for (const std::string& byte : split(text.substr(brace), " {},"))
      constants_.push_back(static_cast<std::byte>(std::stoul(byte)));
    return;
  }
  if (text[0] == '.') return;  // .version, .reg, .param: not needed, names are learned at their first use
  const auto register_of = [&](const std::string& name) {
    const auto [entry, fresh] = names.registers.try_emplace(name, registers_);
    if (fresh) ++registers_;
    return entry->second;
  };
  Instruction made;
  if (text[0] == '@') {
    const std::size_t space = text.find(' ');
    std::string guard = text.substr(1, space - 1);
    made.guard_negated = guard[0] == '!';
    if (made.guard_negated) guard.erase(0, 1);
    made.guard = static_cast<int>(register_of(guard));
    text = trimmed(text.substr(space));
  }
  const std::size_t space = text.find(' ');
  std::vector<std::string> dotted = split(text.substr(0, space), ".");
  made.operation = dotted[0];
  made.suffixes.assign(dotted.begin() + 1, dotted.end());
  made.opcode = static_cast<int>(std::ranges::find(kNames, made.operation) - kNames.begin());
  if (made.opcode >= static_cast<int>(kUnpack)) refuse("unknown instruction " + text);
  for (const std::string& suffix : made.suffixes) {
    if (type_of(suffix) == 0) continue;
    (made.type == 0 ? made.type : made.from_type) = type_of(suffix);
  }
  const std::string rest = space == text.npos ? "" : trimmed(text.substr(space));
  if (made.opcode == kMov && rest[0] == '{') made.opcode = kUnpack;
  if (made.opcode == kBra || made.opcode == kCall) {
    const std::vector<std::string> words = split(rest, " (),");
    names.jumps.emplace_back(code_.size(), words.at(0));
    for (std::size_t i = 1; i < words.size(); ++i) {
      made.arguments.push_back(names.parameter(words[i], *this));
      made.arguments.push_back(0);
    }
    code_.push_back(std::move(made));
    return;
  }
  for (std::string word : split(rest, " {},[]")) {
    u64 more = 0;
    if (const std::size_t plus = word.find('+'); plus != word.npos) {
      more = static_cast<u64>(std::stoll(word.substr(plus + 1)));
      word.resize(plus);
    }
    Operand operand;
    operand.value = more;
    if (word == "%tid.x" || word == "%ctaid.x" || word == "%ntid.x") {
      operand.kind = word == "%tid.x"     ? Operand::Kind::kLane
                     : word == "%ctaid.x" ? Operand::Kind::kGroup
                                          : Operand::Kind::kLanes;
    } else if (names.shared.count(word) != 0) {
      operand.value += names.shared[word];
    } else if (marked(made, "param") && (word[0] != '%' && !std::isdigit(static_cast<unsigned char>(word[0])))) {
      operand.value += names.parameter(word, *this);
    } else if (word.starts_with("0d") || word.starts_with("0f")) {
      operand.value = std::stoull(word.substr(2), nullptr, 16);
    } else if (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '-') {
      operand.value = word[0] == '-' ? static_cast<u64>(std::stoll(word)) : std::stoull(word, nullptr, 0);
    } else {
      operand.kind = Operand::Kind::kRegister;
      operand.index = register_of(word);
    }
    made.operands.push_back(operand);
  }
  code_.push_back(std::move(made));
}

struct Program::Lane {
  std::size_t next = 0;
  std::vector<std::size_t> returns;
  std::vector<u64> registers;
  std::vector<std::byte> parameters;
  u64 lane = 0, group = 0, lanes = 0;
  bool done = false;
};

void Program::run(const std::string& kernel, std::size_t groups, std::size_t lanes, std::span<const u64> parameters,
                  const Memory& memory) const {
  const std::vector<std::uint32_t>& places = parameters_.at(kernel);
  if (places.size() != parameters.size()) refuse("a kernel with other parameters");
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<std::byte> shared(shared_bytes_, std::byte{0xcd}), constants = constants_;
    std::vector<Lane> all(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      Lane& lane = all[i];
      lane.next = entries_.at(kernel);
      lane.registers.assign(registers_, 0xcdcdcdcdcdcdcdcd);
      lane.parameters.resize(parameter_bytes_);
      for (std::size_t k = 0; k < places.size(); ++k) std::memcpy(&lane.parameters[places[k]], &parameters[k], 8);
      lane.lane = i, lane.group = group, lane.lanes = lanes;
    }
    for (std::size_t done = 0; done < lanes;) {
      done = 0;
      for (Lane& lane : all) {
        while (!lane.done && step(lane, shared, constants, memory)) {
        }
        done += lane.done ? 1 : 0;
      }
      if (done != 0 && done != lanes) refuse("some lanes have left, and others wait at a barrier");
    }
  }
}

// Returns false if the lane has to wait for others, or is done.
bool Program::step(Lane& lane, std::vector<std::byte>& shared, std::vector<std::byte>& constants,
                   const Memory& memory) const {
  const Instruction& now = code_.at(lane.next++);
  if (now.guard >= 0 && ((lane.registers[static_cast<std::size_t>(now.guard)] & 1) != 0) == now.guard_negated)
    return true;
  const auto value = [&](std::size_t i) -> u64 {
    const Operand& operand = now.operands[i];
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        return lane.registers[operand.index] + operand.value;
      case Operand::Kind::kImmediate:
        return operand.value;
      case Operand::Kind::kLane:
        return lane.lane;
      case Operand::Kind::kGroup:
        return lane.group;
      default:
        return lane.lanes;
    }
  };
  const auto set = [&](std::size_t i, u64 result, int bits) {
    lane.registers[now.operands[i].index] = cut(result, bits);
  };
  const int bits = bits_of(now.type);
  const bool is_double = now.type == kFloat + 64;
  const auto place = [&](std::size_t i, u64 bytes) -> std::byte* {
    const u64 address = value(i);
    if (marked(now, "global")) {
      std::byte* const pointer = address % bytes == 0 ? memory(address, bytes) : nullptr;
      return pointer != nullptr ? pointer : throw std::runtime_error("PTX: no such memory");
    }
    const bool is_parameter = marked(now, "param");
    const std::span<std::byte> all = marked(now, "shared")  ? std::span(shared)
                                     : marked(now, "const") ? std::span(constants)
                                                            : std::span(lane.parameters);
    const bool is_inside = address <= all.size() && bytes <= all.size() - address;
    if (!is_inside || address % (is_parameter ? 1 : bytes) != 0)
      refuse("outside shared memory, constants or parameters");
    return &all[address];
  };
  switch (now.opcode) {
    case kAdd:
      set(0, is_double ? as_bits(as_double(value(1)) + as_double(value(2))) : value(1) + value(2), bits);
      break;
    case kSub:
      set(0, is_double ? as_bits(as_double(value(1)) - as_double(value(2))) : value(1) - value(2), bits);
      break;
    case kMul:
      if (is_double) {
        set(0, as_bits(as_double(value(1)) * as_double(value(2))), 64);
      } else {
        const u128 product =
            static_cast<u128>(number(value(1), now.type)) * static_cast<u128>(number(value(2), now.type));
        set(0, static_cast<u64>(marked(now, "hi") ? product >> bits : product), marked(now, "wide") ? 2 * bits : bits);
      }
      break;
    case kFma:
      set(0, as_bits(std::fma(as_double(value(1)), as_double(value(2)), as_double(value(3)))), 64);
      break;
    case kNeg:
      set(0, is_double ? value(1) ^ u64{1} << 63 : 0 - value(1), bits);
      break;
    case kAbs:
      set(0, is_double ? value(1) & ~u64{0} >> 1 : number(value(1), now.type) < 0 ? 0 - value(1) : value(1), bits);
      break;
    case kAnd:
      set(0, value(1) & value(2), bits);
      break;
    case kOr:
      set(0, value(1) | value(2), bits);
      break;
    case kXor:
      set(0, value(1) ^ value(2), bits);
      break;
    case kNot:
      set(0, ~value(1), bits);
      break;
    case kShl:
      set(0, cut(value(2), 32) >= static_cast<u64>(bits) ? 0 : value(1) << value(2), bits);
      break;
    case kShr:
      set(0, static_cast<u64>(number(value(1), now.type) >> std::min<u64>(cut(value(2), 32), static_cast<u64>(bits))),
          bits);
      break;
    case kMin:
    case kMax:
      set(0, extreme(now.opcode == kMax, now.type, value(1), value(2)), bits);
      break;
    case kBfe: {  // for signed types, the field's highest bit is the sign
      const u64 length = cut(value(3), 8),
                field = cut(cut(value(1), bits) >> cut(value(2), 8), static_cast<int>(length));
      const bool is_negative = is_signed(now.type) && length != 0 && (field >> (length - 1) & 1) != 0;
      set(0, is_negative ? field | ~u64{0} << length : field, bits);
      break;
    }
    case kSelp:
      set(0, (value(3) & 1) != 0 ? value(1) : value(2), bits);
      break;
    case kSetp:
      set(0,
          is_double ? compare_doubles(now.suffixes[0], as_double(value(1)), as_double(value(2)))
                    : compare(now.suffixes[0], number(value(1), now.type), number(value(2), now.type)),
          1);
      break;
    case kMov:
      set(0, value(1), bits);
      break;
    case kUnpack:
      set(0, value(2), 16);
      set(1, value(2) >> 16, 16);
      break;
    case kCvt:
      if (now.type == kFloat + 64 && now.from_type == kFloat + 32) {
        set(0, as_bits(std::bit_cast<float>(static_cast<std::uint32_t>(value(1)))), 64);
      } else if (now.type == kFloat + 32 && now.from_type == kFloat + 16) {
        set(0, std::bit_cast<std::uint32_t>(widened(value(1))), 32);
      } else if (now.type < kFloat && now.from_type < kFloat) {
        set(0, static_cast<u64>(number(value(1), now.from_type)), std::max(bits, 32));
      } else {
        refuse("a conversion that is not known");
      }
      break;
    case kLd:
    case kSt: {
      const bool load = now.opcode == kLd;
      const std::size_t count = now.operands.size() - 1, size = static_cast<std::size_t>(bits) / 8;
      std::byte* const pointer = place(load ? count : 0, size * count);
      for (std::size_t i = 0; i < count; ++i) {
        u64 word = load ? 0 : value(1 + i);
        std::memcpy(load ? reinterpret_cast<std::byte*>(&word) : pointer + i * size,
                    load ? pointer + i * size : reinterpret_cast<std::byte*>(&word), size);
        if (load) set(i, static_cast<u64>(number(word, now.type)), std::max(bits, is_signed(now.type) ? 32 : bits));
      }
      break;
    }
    case kAtom: {
      std::byte* const pointer = place(1, static_cast<u64>(bits) / 8);
      u64 before = 0;
      std::memcpy(&before, pointer, static_cast<std::size_t>(bits) / 8);
      const u64 after = marked(now, "add")                                      ? before + value(2)
                        : marked(now, "xor")                                    ? before ^ value(2)
                        : number(before, now.type) > number(value(2), now.type) ? before
                                                                                : value(2);
      std::memcpy(pointer, &after, static_cast<std::size_t>(bits) / 8);
      set(0, before, bits);
      break;
    }
    case kDp4a:
      set(0, dot(now.type, value(1), value(2), value(3)), 32);
      break;
    case kPrmt:
      set(0, permuted(value(1), value(2), value(3)), 32);
      break;
    case kClz:
      set(0, static_cast<u64>(std::countl_zero(cut(value(1), bits)) - (64 - bits)), 32);
      break;
    case kMad:
      if (!marked(now, "lo")) refuse("a mad that is not known");
      set(0, value(1) * value(2) + value(3), bits);
      break;
    case kBra:
      lane.next = now.target;
      break;
    case kCall:
      for (std::size_t i = 0; i < now.arguments.size(); i += 2) {
        std::memcpy(&lane.parameters[now.arguments[i + 1]], &lane.parameters[now.arguments[i]], 8);
      }
      lane.returns.push_back(lane.next);
      lane.next = now.target;
      break;
    case kRet:
      lane.done = lane.returns.empty();
      if (lane.done) return false;
      lane.next = lane.returns.back();
      lane.returns.pop_back();
      break;
    case kBar:
      return false;
    default:
      refuse("an instruction that is not known");
  }
  return true;
}

}  // namespace ptx
