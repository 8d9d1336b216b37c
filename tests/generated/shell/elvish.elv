
# What the machine and the line tell: this part is by hand, see
# tests/generated/shell.
use re

# The size that a directory's name ends with.
fn size-of {|dir|
    var kb = (num (re:replace '.*-(\d+)kB$' '$1' $dir))
    if (== 0 (% $kb 1048576)) {
        put (/ $kb 1048576)GB
    } elif (== 0 (% $kb 1024)) {
        put (/ $kb 1024)MB
    } else {
        put $kb'kB'
    }
}

# A line's text up to the first colon.
fn names-in {|file|
    from-lines < $file | each {|line| put [(str:split : $line)][0] }
}

# What the value of an option may be, by the name that help gives it.
fn values {|name|
    if (has-value ['SIZE|thp' SIZE 'SIZE|1/N'] $name) {
        each $size-of~ [/sys/kernel/mm/hugepages/hugepages-*[nomatch-ok]]
        if (eq $name 'SIZE|thp') {
            put thp
        }
    } elif (has-value [SPEC SPREAD] $name) {
        for dir [/sys/kernel/mm/hugepages/hugepages-*[nomatch-ok]] {
            put (size-of $dir):(one < $dir/nr_hugepages)
        }
    } elif (eq $name SIZE:MODE) {
        for dir [/sys/kernel/mm/transparent_hugepage/hugepages-*[nomatch-ok]] {
            put (re:replace '.*-' '' $dir):{always inherit madvise never}
        }
    } elif (eq $name 'PID|NAME|all') {
        put all
        for dir [/proc/[digit]*[nomatch-ok]] {
            # It may have ended.
            try {
                put (re:replace '.*/' '' $dir) (one < $dir/comm)
            } catch error {
                nop
            }
        }
    } elif (eq $name 'SEGMENT[:PERCENT],...') {
        put text data bss heap shm
    } elif (eq $name USER) {
        names-in /etc/passwd
    } elif (eq $name GROUP) {
        names-in /etc/group
    } elif (eq $name OCTAL) {
        put 0700 0750 0770 0755 1777
    } elif (str:has-prefix $name '=') {
        str:split ' ' $name[1..]
    }
}
