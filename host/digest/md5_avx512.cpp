// GCC and clang make vpternlogd of each mix and vprold of each rotation.
#define MD5_TABLE kMd5Avx512
#define MD5_WIDTH 16
#define MD5_VECTORS 4
#include "host/digest/md5_lanes.inc"
