# Functions that declare this project's libraries, and install them for find_package.

# tensorstat_find_shared_libraries(TARGET FOLDER): a target that is installed in FOLDER finds this project's shared
# libraries, also after the installation is moved, whatever the loader's path is.
function(tensorstat_find_shared_libraries target folder)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH to_libraries ${folder} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_property(TARGET ${target} PROPERTY INSTALL_RPATH "$ORIGIN/${to_libraries}")
  endif()
endfunction()

# tensorstat_portable(TARGET): what is installed runs with any libstdc++ of the machine, and starts sooner: it has its own.
# Nothing of C++ passes through its interface. libgcc is not inside: its unwinder would need glibc 2.35.
function(tensorstat_portable target)
  if(NOT BUILD_SHARED_LIBS AND NOT TENSORSTAT_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--exclude-libs,libstdc++.a)
    set(arc4random ${PROJECT_SOURCE_DIR}/stats/core/base/arc4random.cpp)
    target_sources(${target} PRIVATE ${arc4random})
    set_property(SOURCE ${arc4random} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# tensorstat_loaded_name(VARIABLE FILE): the name by which a process loads the shared library FILE, such as libz.so.1. The
# file's own name may have another number: libsqlite3.so.0 is libsqlite3.so.3.53 in Debian sid.
function(tensorstat_loaded_name variable file)
  file(REAL_PATH ${file} library)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(dynamic MATCHES "SONAME[^[]*\\[([^]]+)]")
    set(library ${CMAKE_MATCH_1})
  else()
    string(REGEX MATCH "[^/]*[.]so[.][0-9]+" library ${library})
  endif()
  set(${variable} ${library} PARENT_SCOPE)
endfunction()

# tensorstat_room(TARGET ROOM SOURCE...): adds a room's sources. They are compiled together as one unity source, because
# headers take most of the time. A change of one source compiles all of them again, so large rooms have several groups. Names
# in anonymous namespaces must be unique in a room.
function(tensorstat_room target room)
  target_sources(${target} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${room})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TENSORSTAT_UNITY} UNITY_BUILD_MODE GROUP)
  if(TENSORSTAT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # GCC treats an included source as a header
  endif()
endfunction()

# tensorstat_quick(TARGET): if TENSORSTAT_QUICK is set, compiles the target at -O1, and with the headers that most sources
# include compiled once for all targets. For code that does not compute.
function(tensorstat_quick target)
  if(NOT TENSORSTAT_QUICK)
    return()
  endif()
  target_compile_options(${target} PRIVATE -O1)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(NOT TARGET tensorstat_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/headers.cpp "")
    add_library(tensorstat_headers OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
    target_compile_options(tensorstat_headers PRIVATE -O1)
    target_compile_features(tensorstat_headers PRIVATE cxx_std_20)
    target_include_directories(tensorstat_headers PRIVATE ${PROJECT_SOURCE_DIR}/stats)
    target_precompile_headers(tensorstat_headers PRIVATE <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath>
      <cstring> <filesystem> <fstream> <functional> <map> <memory> <mutex> <optional> <ostream> <set> <span> <sstream>
      <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <tensorstat/meter.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM tensorstat_headers)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE -fPIC)  # as the headers are compiled, not -fPIE
  endif()
endfunction()

# tensorstat_computing(TARGET SOURCE...): adds sources that compute. They are not in a unity build, and are optimised if
# TENSORSTAT_QUICK is set, too.
function(tensorstat_computing target)
  target_sources(${target} PRIVATE ${ARGN})
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  if(TENSORSTAT_QUICK AND NOT TENSORSTAT_SANITIZE)
    set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -O3)
  endif()
endfunction()

# tensorstat_library(NAME): declares the target tensorstat_NAME, with the alias tensorstat::NAME for users. Sources are
# added later.
function(tensorstat_library name)
  set(target tensorstat_${name})
  add_library(${target})
  add_library(tensorstat::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})  # as installed
  tensorstat_find_shared_libraries(${target} ${CMAKE_INSTALL_FULL_LIBDIR})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/stats> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  if(TENSORSTAT_INSTALL)
    install(TARGETS ${target} EXPORT tensorstat-${name} COMPONENT ${name})
  endif()
endfunction()

# Installs the headers and the files for find_package. Each library has its own file of targets, so that a user of the
# core does not need the dump layer's dependencies.
function(tensorstat_install_package)
  include(CMakePackageConfigHelpers)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/tensorstat)
  set(dump_headers alerts.hpp compare.hpp dump.hpp findings.hpp rows.hpp)
  list(TRANSFORM dump_headers PREPEND stats/tensorstat/ OUTPUT_VARIABLE dump_header_files)
  set(of_others ${dump_headers} core.h tensorstat.h README.md)
  # The installed meter.hpp says where the installation lies. That of the sources does not, because they are none.
  set(meter_header ${PROJECT_SOURCE_DIR}/stats/tensorstat/meter.hpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${meter_header})
  file(READ ${meter_header} text)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/installed/meter.hpp CONTENT "${text}\n#include <tensorstat/installation.hpp>\n" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/installed/meter.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tensorstat COMPONENT core)
  list(APPEND of_others meter.hpp)
  list(TRANSFORM of_others REPLACE "(.+)" "PATTERN;\\1;EXCLUDE")
  install(DIRECTORY stats/tensorstat TYPE INCLUDE COMPONENT core ${of_others})
  install(EXPORT tensorstat-core NAMESPACE tensorstat:: DESTINATION ${folder} COMPONENT core)
  if(TENSORSTAT_DUMP)
    install(FILES ${dump_header_files} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tensorstat COMPONENT dump)
    install(EXPORT tensorstat-dump NAMESPACE tensorstat:: DESTINATION ${folder} COMPONENT dump)
  endif()
  if(TENSORSTAT_C)
    install(FILES stats/tensorstat/core.h stats/tensorstat/tensorstat.h
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tensorstat COMPONENT c_dev)
    foreach(part c_core c)
      install(EXPORT tensorstat-${part} NAMESPACE tensorstat:: DESTINATION ${folder} COMPONENT c_dev)
    endforeach()
  endif()
  set(cpp_libraries -ltensorstat_core)
  set(component core)
  if(TENSORSTAT_DUMP)
    set(cpp_libraries "-ltensorstat_dump -ltensorstat_core")
    set(component dump)
  endif()
  file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(stats/tensorstat-cpp.pc.in tensorstat-cpp.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tensorstat-cpp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${component})
  write_basic_package_version_file(tensorstat-config-version.cmake COMPATIBILITY SameMajorVersion)
  install(FILES stats/tensorstat-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tensorstat-config-version.cmake
          DESTINATION ${folder} COMPONENT core)
endfunction()
