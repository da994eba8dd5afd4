// Three vectors: a fourth one would not fit into the sixteen registers.
#define MD5_TABLE kMd5Avx2
#define MD5_WIDTH 8
#define MD5_VECTORS 3
#include "host/digest/md5_lanes.inc"
