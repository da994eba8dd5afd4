// The sizes of groups and tiles. One text for C++ and OpenCL C.
#ifndef TENSORSTAT_PRECISION_SIZES_H
#define TENSORSTAT_PRECISION_SIZES_H

#define GROUP 128      // a fold takes so many elements at a time
#define TILE 1024      // `low` rounds in tiles of so many elements; a tensor may be cut between two tiles
#define LOG2_TILE 10
#define TILE_LANES 16  // the partial sums of a tile

#endif
