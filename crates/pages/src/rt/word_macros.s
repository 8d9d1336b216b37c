/* Macros for the `words.s` of each library, which follows them. A word is eight bytes that the
   loader fills with the address of a symbol. */

/* Null if the symbol is undefined. */
.macro weak_word word, name
    .weak \name
    .globl \word
    .hidden \word
\word:
    .8byte \name
.endm

.macro address_word word, name
    .globl \word
    .hidden \word
\word:
    .8byte \name
.endm
