#define FOLDS kFoldsBaseline
#define LANE_FOLDS kLaneFoldsBaseline
#include "host/simd/folds.inc"
