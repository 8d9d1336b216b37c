/* What makes words that the loader fills: for the `words.s` of each library, which stand
   behind this text. Each word is eight bytes with the address of what has a name. */

/* Or null, where nothing has it. */
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
