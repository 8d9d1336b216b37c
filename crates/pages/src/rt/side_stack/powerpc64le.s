/* Runs a function (r4) with an argument (r5) on the stack that ends at an address
   (r3); see `switch.rs`. The function may be in another module's terms, so that r2
   is kept and r12 set. */

.pushsection .text.hugetools_run_on,"ax",@progbits
.abiversion 2
.balign 16
.globl hugetools_run_on
.hidden hugetools_run_on
.type hugetools_run_on,@function
hugetools_run_on:
    .cfi_startproc
    mflr 0
    std 0, 16(1)
    std 31, -8(1)
    stdu 1, -48(1)
    .cfi_def_cfa_offset 48
    .cfi_offset 65, 16
    .cfi_offset 31, -8
    mr 31, 1
    .cfi_def_cfa_register 31
    std 2, 24(31)
    addi 1, 3, -32
    std 31, 0(1)
    mr 12, 4
    mtctr 12
    mr 3, 5
    bctrl
    ld 2, 24(31)
    addi 1, 31, 48
    .cfi_def_cfa 1, 0
    ld 0, 16(1)
    ld 31, -8(1)
    mtlr 0
    blr
    .cfi_endproc
.size hugetools_run_on, . - hugetools_run_on
.popsection

.pushsection .note.GNU-stack,"",@progbits
.popsection
