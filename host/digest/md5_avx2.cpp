// A fourth vector would spill the sixteen registers.
#define MD5_TABLE kMd5Avx2
#define MD5_WIDTH 8
#define MD5_VECTORS 3
#include "host/digest/md5_lanes.inc"
