// One to three interleaved messages in ordinary registers. One runs at OpenSSL's speed (GCC; clang 0.8 of it), three at
// 2.5 times that. Compiled without SLP vectorisation (CMakeLists.txt), which would put the messages into half-filled
// vectors and be slower than one message.
#define MD5_TABLE kMd5Scalar
#define MD5_WIDTH 1
#define MD5_VECTORS 3
#include "host/digest/md5_lanes.inc"
