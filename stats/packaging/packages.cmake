# `cpack` in a build folder makes five .deb packages from the installed components. Also defines the target `uninstall`.
#
#   tensorstat           the command, its man pages and completions, and the layer that `attach` loads
#   libtensorstat-core0  libtensorstat-core.so, the C library of the core, and the helper program that tries a driver out
#   libtensorstat0       libtensorstat.so, the C library with files, rows and dump sessions
#   libtensorstat-dev    headers, static libraries of C++, files for find_package and pkg-config
#   python3-tensorstat   import tensorstat
set(major ${PROJECT_VERSION_MAJOR})
set(same "(= ${PROJECT_VERSION})")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tensorstat)
set(CPACK_PACKAGE_CONTACT "The tensorstat authors <tensorstat@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "statistics of tensors, computed where the tensors live")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/stats/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX packages)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/stats/packaging/debian_rules.cmake)  # what CPack does not do

string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, if it is set
configure_file(${PROJECT_SOURCE_DIR}/stats/packaging/changelog.in ${PROJECT_BINARY_DIR}/packaging/changelog @ONLY)

set(CPACK_COMPONENTS_ALL)
# tensorstat_package(GROUP NAME DESCRIPTION COMPONENT...): puts these components into one package. Lines of the description
# have at most 80 bytes.
macro(tensorstat_package group name description)
  string(TOUPPER ${group} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION ${description})
  # EXCLUDE_FROM_ALL: only for the package, so that `cmake --install` does not install these files four times.
  install(FILES ${PROJECT_SOURCE_DIR}/stats/packaging/copyright ${PROJECT_SOURCE_DIR}/stats/CHANGELOG.md
                ${PROJECT_BINARY_DIR}/packaging/changelog
          DESTINATION share/doc/${name} COMPONENT doc_${group} EXCLUDE_FROM_ALL)
  foreach(component ${ARGN} doc_${group})
    string(TOUPPER ${component} component_upper)
    set(CPACK_COMPONENT_${component_upper}_GROUP ${group})
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endforeach()
endmacro()

tensorstat_package(command tensorstat
  "The command: measures every tensor of a file, a dump or a training run, and
names the operation that made the first NaN. It reads .npy, .npz, .safetensors,
torch.save's files and the dumps of MindSpore, msprobe and CANN."
  command)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libtensorstat${major} ${same}")
# By hand, because dpkg-shlibdeps does not see what is loaded when it is needed.
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "libyaml-0-2, pocl-opencl-icd | opencl-icd")
find_library(XLSXWRITER_LIBRARY xlsxwriter)
if(XLSXWRITER_LIBRARY)
  tensorstat_loaded_name(xlsx ${XLSXWRITER_LIBRARY})
  string(REGEX MATCH "[0-9]+$" number "${xlsx}")  # of libxlsxwriter.so.4, which is in libxlsxwriter4
  string(PREPEND CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "libxlsxwriter${number}, ")
endif()
set(hdf5 "libhdf5-103-1 | libhdf5-103-1t64 | libhdf5-310 | libhdf5-320")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "${hdf5}")

tensorstat_package(core_library libtensorstat-core${major}
  "The core of the C library: measures tensors in host memory with SIMD, or on an
OpenCL device. The bits of each result are the same everywhere."
  c_core helper)
set(CPACK_DEBIAN_CORE_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CORE_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CORE_LIBRARY_PACKAGE_DEPENDS "libssl3 | libssl3t64, ocl-icd-libopencl1 | libopencl1")
set(CPACK_DEBIAN_CORE_LIBRARY_PACKAGE_RECOMMENDS "pocl-opencl-icd | opencl-icd")

tensorstat_package(library libtensorstat${major}
  "The C library: the core, files of tensors, rows of statistics, answers about
runs, and dump sessions for a framework's backend."
  c)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libtensorstat-core${major} ${same}, libsqlite3-0")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "${hdf5}")

tensorstat_package(dev libtensorstat-dev
  "Files for development: headers of C and C++, static libraries of C++, and the
files for find_package and pkg-config."
  core dump c_dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libtensorstat${major} ${same}, zlib1g-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "ocl-icd-opencl-dev")

if(TARGET tensorstat_python)
  tensorstat_package(python python3-tensorstat
    "The Python package: measures arrays of NumPy, PyTorch, PyOpenCL and whatever
has DLPack, and watches the training of a PyTorch model."
    python)
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})  # libtensorstat.so
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libtensorstat${major} ${same}, python3 (>= 3.11)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-numpy, python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/stats/packaging/prerm)

# A cross build makes packages of the architecture that it builds for. dpkg-shlibdeps finds the libraries in the sysroot;
# which packages these are of, the sysroot's DEBIAN/shlibs and symbols say, as in a package that is being built.
if(CMAKE_CROSSCOMPILING AND CMAKE_LIBRARY_ARCHITECTURE)
  execute_process(COMMAND dpkg-architecture --host-type ${CMAKE_LIBRARY_ARCHITECTURE} --query DEB_HOST_ARCH
                  OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT CPACK_DEBIAN_PACKAGE_ARCHITECTURE)  # there is no dpkg-dev, and CPack would take this machine's
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
  endif()
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/packaging/cross.cmake)
  file(WRITE ${CPACK_PROJECT_CONFIG_FILE} "set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})\n")
endif()

include(CPack)

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/stats/packaging/uninstall.cmake
  VERBATIM)
