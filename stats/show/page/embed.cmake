# Writes OUTPUT, a C++ source that holds the page's texts and the SHA-256 of its style and its script, in hexadecimal. The script
# is all files *.js of SOURCES, in their order.
cmake_minimum_required(VERSION 3.25)
set(script "")
set(pieces "")
foreach(source IN LISTS SOURCES)
  file(READ ${FOLDER}/${source} text)
  # The page needs neither comments nor indentation.
  string(REGEX REPLACE "\n[ ]+" "\n" text "\n${text}")
  if(source MATCHES "\\.js$")
    string(REGEX REPLACE "\n//[^\n]*|\n/\\*\\*[^\n]*" "" text "${text}")
  endif()
  string(REGEX REPLACE "^\n" "" text "${text}")
  if(source MATCHES "\\.js$")
    # Raw strings are limited to 64 KiB by some compilers; each of these is a fifth of that.
    string(APPEND script "${text}")
    string(APPEND pieces "    R\"TEXT(${text})TEXT\",\n")
  else()
    string(REGEX REPLACE ".*\\." "" kind ${source})
    set(${kind} "${text}")
  endif()
endforeach()
string(SHA256 style_hash "${css}")
string(SHA256 script_hash "${script}")
file(WRITE ${OUTPUT} "#include \"stats/show/page/texts.hpp\"\n\nnamespace tensorstat::page {\n
const std::string_view kHtml = R\"TEXT(${html})TEXT\";
const std::string_view kStyle = R\"TEXT(${css})TEXT\";
const std::vector<std::string_view>& scripts() {
  static const std::vector<std::string_view> all = {\n${pieces}  };
  return all;\n}
const std::string_view kStyleHash = \"${style_hash}\", kScriptHash = \"${script_hash}\";\n
}  // namespace tensorstat::page\n")
