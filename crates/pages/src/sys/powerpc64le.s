/* Makes a system call: arguments in r3 to r8, as for the kernel, the number in r9. The kernel
   flags an error by cr0.SO; returns it as a negative number. */

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
