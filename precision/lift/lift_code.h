// The code of an element (precision/codes.h), for C++, included once a dtype.
INLINE u32 NAME(code_of)(const UBITS bits) { return CODE_OF(bits); }
