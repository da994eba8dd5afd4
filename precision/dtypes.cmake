# Writes precision/generated/ below OUTPUT from dtypes.txt and families.txt, when CMake configures:
#   <dtype>.h       a dtype's columns and its family's as plain defines, and what follows from them (formats.h)
#   no_dtype.h      takes them all back
#   each_dtype.h    includes the text PER_DTYPE once for each dtype, in the table's order and in a namespace of its own,
#                   for C++: float32's fold_some is dtype_float32::fold_some
#   dtypes.h        the list of dtypes
#   families.h      the list of families
# A file that stays the same is not written, so that nothing is compiled again. What follows from the columns is no number
# here: CMake counts in 64 bits with a sign, and a formula in formats.h can be read and held against its statistic.
set(folder ${CMAKE_CURRENT_LIST_DIR})
set(generated ${TENSORSTAT_GENERATED}/precision/generated)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/dtypes.txt ${folder}/families.txt ${folder}/dtypes.cmake)

# The headings of a table and its rows, each a list of as many words.
function(read_table file headings_to rows_to)
  file(STRINGS ${file} lines REGEX "^[^#]")
  set(rows "")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    string(REGEX REPLACE " +" "," row "${line}")
    list(APPEND rows "${row}")
  endforeach()
  list(POP_FRONT rows headings)
  string(REPLACE "," ";" headings "${headings}")
  list(LENGTH headings columns)
  foreach(row IN LISTS rows)
    string(REPLACE "," ";" cells "${row}")
    list(LENGTH cells words)
    if(NOT words EQUAL columns)
      message(FATAL_ERROR "${file}: a row has ${words} words, and there are ${columns} headings: ${row}")
    endif()
  endforeach()
  set(${headings_to} "${headings}" PARENT_SCOPE)
  set(${rows_to} "${rows}" PARENT_SCOPE)
endfunction()

function(write_generated name text)
  file(CONFIGURE OUTPUT ${generated}/${name} CONTENT "// Written by precision/dtypes.cmake.\n@text@" @ONLY)
endfunction()

# The defines of a row, without what stands before column `first`; - is not defined.
function(defines_of headings row first text_to names_to)
  set(text "")
  set(names "")
  string(REPLACE "," ";" cells "${row}")
  foreach(heading cell IN ZIP_LISTS headings cells)
    if(first GREATER 0)
      math(EXPR first "${first} - 1")
      continue()
    endif()
    if(heading MATCHES "^([A-Z_]+)=(.+)%(.+)$")
      set(heading ${CMAKE_MATCH_1})
      if(NOT cell STREQUAL "-")
        set(cell "\"${CMAKE_MATCH_2}${cell}${CMAKE_MATCH_3}\"")
      endif()
    endif()
    list(APPEND names ${heading})
    if(NOT cell STREQUAL "-")
      string(APPEND text "#define ${heading} ${cell}\n")
    endif()
  endforeach()
  set(${text_to} "${text}" PARENT_SCOPE)
  set(${names_to} "${names}" PARENT_SCOPE)
endfunction()

read_table(${folder}/families.txt family_headings families)
set(rows "")
foreach(family IN LISTS families)
  defines_of("${family_headings}" "${family}" 5 text family_names)
  string(REGEX MATCH "^([^,]+),([^,]+),([^,]+),([^,]+),([^,]+)" words "${family}")
  set(defines_of_${CMAKE_MATCH_1} "${text}")
  string(REPLACE "," ", " words "${words}")
  string(APPEND rows " \\\n  ROW(${words})")
endforeach()
write_generated(families.h "#ifndef TENSORSTAT_PRECISION_FAMILIES_H
#define TENSORSTAT_PRECISION_FAMILIES_H

// ROW(family, words of a sum, words of a sum of squares, exponent of a sum's unit, exponents that elements have)
#define FAMILIES(ROW)${rows}

// SUM_WORDS_Float and the like; a text finds its own family's by CAT(SUM_WORDS_, FAMILY).
#define FAMILY_ENUM(family, sum_words, square_words, sum_exponent, exponents) \\
  SUM_WORDS_##family = sum_words, SQUARE_WORDS_##family = square_words, SUM_EXPONENT_##family = sum_exponent, \\
  EXPONENTS_##family = exponents,
enum { FAMILIES(FAMILY_ENUM) };
#undef FAMILY_ENUM

#endif
")

read_table(${folder}/dtypes.txt headings dtypes)
set(each "\
// Includes PER_DTYPE once for each dtype of precision/dtypes.txt, in a namespace of the dtype. If PER_DTYPE_IF is defined,\n\
// only for the dtypes for which it is not 0; else for the real dtypes. A complex dtype's namespace also has the defines of\n\
// its parts' dtype.\n\
#ifndef PER_DTYPE_IF\n#define PER_DTYPE_IF !IS_COMPLEX\n#endif\n")
set(list "")
foreach(row IN LISTS dtypes)
  string(REGEX MATCH "^([^,]+),([^,]+),([^,]+)" ignored "${row}")
  set(dtype ${CMAKE_MATCH_1})
  set(family ${CMAKE_MATCH_2})
  set(part ${CMAKE_MATCH_3})
  string(COMPARE NOTEQUAL ${dtype} ${part} is_complex)
  string(APPEND list " \\\n  ROW(${dtype})")
  if(NOT DEFINED defines_of_${family})
    message(FATAL_ERROR "dtypes.txt: ${dtype} is of family ${family}, which families.txt does not have")
  endif()
  defines_of("${headings}" "${row}" 0 text names)
  write_generated(${dtype}.h "#include \"precision/generated/no_dtype.h\"
${text}#define IS_COMPLEX ${is_complex}\n${defines_of_${family}}#include \"precision/formats.h\"\n")
  string(APPEND each "#include \"precision/generated/${dtype}.h\"\nnamespace dtype_${dtype} {\n")
  if(is_complex)
    string(APPEND each "using namespace dtype_${part};\n")
  endif()
  string(APPEND each "#if PER_DTYPE_IF\n#include PER_DTYPE\n#endif\n}\n")
endforeach()
write_generated(each_dtype.h "${each}#include \"precision/generated/no_dtype.h\"\n#undef PER_DTYPE_IF\n#undef PER_DTYPE\n")
write_generated(dtypes.h "#define DTYPES(ROW)${list}\n")
list(JOIN names "\n#undef " some)
list(JOIN family_names "\n#undef " others)
write_generated(no_dtype.h "#undef ${some}\n#undef IS_COMPLEX\n#undef ${others}\n")
