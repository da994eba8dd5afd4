// The words of the kernels for two tensors, for both shapes. Each work-item has its own words, so lifts need no atomics. It
// lifts elements from private memory.
#undef SPACE
#undef WORDS
#undef ADD
#undef RAISE
#define SPACE private
#define WORDS
#define ADD(word, value) ((word) += (value))
#define RAISE(word, value) ((word) = max((word), (i64)(value)))

#define PAIR_WORD_COUNT (IS_WIDE ? (int)PAIR_WORDS_Double : (int)PAIR_WORDS_Float)
#define PAIR_SUMS_BEGIN PAIR_FIELDS

#define EMPTY_ADDITION 0
#define EMPTY_MAXIMUM PAIR_LEAST
#define EMPTY_KEY PAIR_LEAST
#define EMPTY_AT PAIR_LEAST
#define CLEAR_FIELD(id, merge) words[PAIR_##id] = EMPTY_##merge;
#define CLEAR_PAIR(words_of_partial)                                                  \
  do {                                                                                \
    i64* const words = words_of_partial;                                              \
    PAIR_FIELD_ROWS(CLEAR_FIELD)                                                      \
    for (int word = PAIR_SUMS_BEGIN; word < PAIR_WORD_COUNT; ++word) words[word] = 0; \
  } while (false)

// Lifts element i of both tensors.
#define LIFT_PAIR_AT(partial, a, b, i, first_element, tolerance)            \
  do {                                                                      \
    number of_a, of_b;                                                      \
    CAT(element_, DTYPE_A)(&of_a, a, i);                                    \
    CAT(element_, DTYPE_B)(&of_b, b, i);                                    \
    lift_pair(partial, of_a, of_b, (first_element) + (i), kind, tolerance); \
  } while (false)
