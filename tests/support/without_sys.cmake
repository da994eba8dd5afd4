# ctest reads this before it runs the tests. In a bare chroot, without /sys, hwloc finds no processors, and so pocl no
# device: 31 tests would fail. hwloc then takes the processors from here.
if(NOT EXISTS /sys/devices/system/cpu AND NOT DEFINED ENV{HWLOC_SYNTHETIC})
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  set(ENV{HWLOC_SYNTHETIC} "pu:${processors}")
  message(STATUS "/sys is not mounted: HWLOC_SYNTHETIC=pu:${processors} tells pocl of the processors")
endif()
