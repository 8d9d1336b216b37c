/* A system call: its arguments in r3 to r8, as the kernel has them, and its number
   in r9. An error is told by a flag, and returned as a negative number. */

.pushsection .text.hugetools_enter_kernel,"ax",@progbits
.abiversion 2
.balign 16
.globl hugetools_enter_kernel
.hidden hugetools_enter_kernel
.type hugetools_enter_kernel,@function
hugetools_enter_kernel:
    .cfi_startproc
    mr 0, 9
    sc
    bnslr+
    neg 3, 3
    blr
    .cfi_endproc
.size hugetools_enter_kernel, . - hugetools_enter_kernel
.popsection

.pushsection .note.GNU-stack,"",@progbits
.popsection
