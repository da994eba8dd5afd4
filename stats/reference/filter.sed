# The headers' plain comments as Doxygen's: // before and after what they tell of, and /* */ of C. The first line, a
# license, makes place for the mark without which a file's functions are left out.
1c /** \\file */
s#^\( *\)//\( \|$\)#\1///\2#
/^ *\/\/\//!s#^\(.*[^ ].*[^ ]\) *// #\1 ///< #
s#^\( *\)/\* \([^-]\)#\1/** \2#
s#^\( *[^ /*].*[^ ] *\)/\* #\1/**< #
