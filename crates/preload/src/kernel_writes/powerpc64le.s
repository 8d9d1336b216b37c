/* Has a look at a context (r3), and jumps on with all that came; see
   `coroutines.rs`. */

.pushsection .text.makecontext,"ax",@progbits
.abiversion 2
.balign 16
.globl makecontext
.type makecontext,@function
makecontext:
    .cfi_startproc
0:
    addis 2, 12, .TOC.-0b@ha
    addi 2, 2, .TOC.-0b@l
    .localentry makecontext, .-makecontext
    mflr 0
    std 0, 16(1)
    stdu 1, -112(1)
    .cfi_def_cfa_offset 112
    .cfi_offset 65, 16
    std 3, 32(1)
    std 4, 40(1)
    std 5, 48(1)
    std 6, 56(1)
    std 7, 64(1)
    std 8, 72(1)
    std 9, 80(1)
    std 10, 88(1)
    bl hugetools_makecontext
    nop
    mr 12, 3
    ld 3, 32(1)
    ld 4, 40(1)
    ld 5, 48(1)
    ld 6, 56(1)
    ld 7, 64(1)
    ld 8, 72(1)
    ld 9, 80(1)
    ld 10, 88(1)
    addi 1, 1, 112
    .cfi_def_cfa_offset 0
    ld 0, 16(1)
    mtlr 0
    .cfi_restore 65
    cmpdi 12, 0
    beq 1f
    mtctr 12
    bctr
1:
    blr
    .cfi_endproc
.size makecontext, . - makecontext
.popsection

.pushsection .note.GNU-stack,"",@progbits
.popsection
