// SSE2 or NEON: what the compiler targets without flags.
#define MD5_TABLE kMd5Baseline
#define MD5_WIDTH 4
#define MD5_VECTORS 3
#include "host/digest/md5_lanes.inc"
