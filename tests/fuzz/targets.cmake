# fuzz_targets: the names in targets.inc.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/targets.inc)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/targets.inc fuzz_targets REGEX "^TENSORSTAT_FUZZ_TARGET")
list(TRANSFORM fuzz_targets REPLACE "^[^(]*.([a-z_]+).*" "\\1")
