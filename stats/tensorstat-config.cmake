# find_package(tensorstat REQUIRED [COMPONENTS core dump]): the targets tensorstat::core and tensorstat::dump, and
# tensorstat::tensorstat, which is all of them that are installed and asked for. Without COMPONENTS: what is installed.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenCL)
find_dependency(OpenSSL COMPONENTS Crypto)

set(_tensorstat_parts ${tensorstat_FIND_COMPONENTS})
if(NOT _tensorstat_parts)
  set(_tensorstat_parts core dump)
endif()
list(PREPEND _tensorstat_parts core)  # the dump layer stands on it
list(REMOVE_DUPLICATES _tensorstat_parts)

if(NOT TARGET tensorstat::tensorstat)
  add_library(tensorstat::tensorstat INTERFACE IMPORTED)
endif()
foreach(_tensorstat_part IN LISTS _tensorstat_parts)
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/tensorstat-${_tensorstat_part}.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/tensorstat-${_tensorstat_part}.cmake)
    target_link_libraries(tensorstat::tensorstat INTERFACE tensorstat::${_tensorstat_part})
    set(tensorstat_${_tensorstat_part}_FOUND TRUE)
  elseif(tensorstat_FIND_REQUIRED_${_tensorstat_part})
    set(tensorstat_FOUND FALSE)
    set(tensorstat_NOT_FOUND_MESSAGE "tensorstat has no component \"${_tensorstat_part}\" here; known are core and dump")
  endif()
endforeach()
unset(_tensorstat_part)
unset(_tensorstat_parts)
