// One to three messages in the processor's ordinary registers, interleaved: one runs at OpenSSL's
// speed (GCC; clang 0.8 of it), three at 2.5 times that. Compiled without SLP vectorisation, which
// would pair the messages in half-filled vectors, slower than one (CMakeLists.txt).
#define MD5_TABLE kMd5Scalar
#define MD5_WIDTH 1
#define MD5_VECTORS 3
#include "host/digest/md5_lanes.inc"
