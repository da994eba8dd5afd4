// Lines of code in the files that frameworks write beside a dump.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat {

// A line of code.
struct CodeLine {
  std::string file;
  std::uint64_t line = 0;  // 0: not known
};

// The line of an operator in the text of a MindSpore .ir: of "# In file x.py(175)/" behind its full_name_with_scope.
std::optional<CodeLine> line_in_graph(std::string_view text, std::string_view op_name);

// The caller's own line in a stack of msprobe's, the innermost frame first: 'File x.py, line 3, in forward, ...'.
std::optional<CodeLine> line_in_stack(const std::vector<std::string_view>& frames);

}  // namespace tensorstat
