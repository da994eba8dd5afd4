# Writes OUTPUT, a C++ source that holds each file of FILES as text: the kernels travel in the library.
set(rows "")
foreach(file IN LISTS FILES)
  file(READ ${ROOT}/${file} text)
  # Raw strings are limited to 64 KiB by some compilers; the longest file here is a tenth of that.
  string(APPEND rows "    {\"${file}\", R\"TEXT(${text})TEXT\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"kernels-cl/launch/texts.hpp\"\n\nnamespace tensorstat::cl_engine {\n
const std::map<std::string_view, std::string_view>& texts() {
  static const std::map<std::string_view, std::string_view> all = {\n${rows}  };
  return all;\n}\n\n}  // namespace tensorstat::cl_engine\n")
