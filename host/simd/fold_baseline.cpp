#define FOLDS kFoldsBaseline
#include "host/simd/folds.inc"
