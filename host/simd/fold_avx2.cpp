#define FOLDS kFoldsAvx2
#include "host/simd/folds.inc"
