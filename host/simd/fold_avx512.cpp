#define FOLDS kFoldsAvx512
#include "host/simd/folds.inc"
