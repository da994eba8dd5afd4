#define FOLDS kFoldsAvx512
#define LANE_FOLDS kLaneFoldsAvx512
#include "host/simd/folds.inc"
