// GCC and clang compile each mix to vpternlogd and each rotation to vprold.
#define MD5_TABLE kMd5Avx512
#define MD5_WIDTH 16
#define MD5_VECTORS 4
#include "host/digest/md5_lanes.inc"
