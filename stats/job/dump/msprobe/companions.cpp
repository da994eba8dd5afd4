#include "stats/job/dump/msprobe/companions.hpp"

#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/json/json_writer.hpp"

namespace tensorstat {

bool Companions::add(const std::string& key, const Description& description, std::uint64_t& total_bytes,
                     std::uint64_t most_bytes) {
  const bool has_stack = !description.stack.empty();
  if (!has_files_ || (!has_parents_ && !has_stack)) return true;
  const std::string name = json_quoted(key, true);
  const std::string parent = description.parent.empty() ? "null" : json_quoted(description.parent, true);
  std::uint64_t more = has_parents_ ? name.size() + parent.size() + 5 : 0;
  if (has_stack && !callers_.contains(description.stack)) {
    for (const std::string& frame : description.stack) more += frame.size() + sizeof frame;
  }
  if (has_stack) more += name.size() + 6;
  if (total_bytes + more > most_bytes) return false;
  if (has_parents_) construct_ += (construct_.empty() ? "\n " : ",\n ") + name + ": " + parent;
  if (has_stack) {
    std::string& names = callers_[description.stack];
    names += (names.empty() ? "\n " : ",\n ") + name;
  }
  total_bytes += more;
  bytes_ += more;
  is_waiting_ = true;
  return true;
}

Status Companions::save(bool synced) {
  if (!is_waiting_) return {};
  std::string stack;
  JsonWriter json(stack, kPythonJson);
  json.begin_object();
  std::size_t count = 0;
  for (const auto& [frames, names] : callers_) {
    json.key(std::to_string(count++)).begin_list().raw("[" + names + "\n]").begin_list();
    for (const std::string& frame : frames) json.text(frame);
    json.end().end();
  }
  json.end();
  const std::string construct = construct_.empty() ? "{}" : "{" + construct_ + "\n}";
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string*>("/stack.json", &stack), {"/construct.json", &construct}}) {
    const auto fill = [text = text](const WritePiece& write) { return write(*text), Status(); };
    if (Status written = write_whole_file(folder_ + name, fill, synced); !written) return written;
  }
  is_waiting_ = false;
  return {};
}

}  // namespace tensorstat
