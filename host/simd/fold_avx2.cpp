#define FOLDS kFoldsAvx2
#define LANE_FOLDS kLaneFoldsAvx2
#include "host/simd/folds.inc"
