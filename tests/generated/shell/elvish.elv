
# What the machine and the line tell: this part is by hand, see
# tests/generated/shell.
use path
use re

fn @ID@-named {|kb|
    if (== (% $kb 1048576) 0) {
        put (/ $kb 1048576)GB
    } elif (== (% $kb 1024) 0) {
        put (/ $kb 1024)MB
    } else {
        put $kb'kB'
    }
}

fn @ID@-kb {|dir|
    num (str:trim-suffix (str:trim-prefix (path:base $dir) hugepages-) kB)
}

fn @ID@-sizes {
    for dir [/sys/kernel/mm/hugepages/hugepages-*[nomatch-ok]kB] {
        @ID@-named (@ID@-kb $dir)
    }
}

fn @ID@-modes {
    for dir [/sys/kernel/mm/transparent_hugepage/hugepages-*[nomatch-ok]kB] {
        put (str:trim-prefix (path:base $dir) hugepages-):{always inherit madvise never}
    }
}

fn @ID@-processes {
    put all
    var names = [&]
    for dir [/proc/*[nomatch-ok]] {
        var pid = (path:base $dir)
        if (re:match '^\d+$' $pid) {
            try {
                var comm = (str:trim-space (slurp < $dir/comm))
                edit:complex-candidate $pid &display=$pid' '$comm
                set names[$comm] = $true
            } catch {
                # It has ended.
            }
        }
    }
    keys $names
}

# The first words of the lines of a list of accounts.
fn @ID@-accounts {|file|
    from-lines < $file | each {|line| put (str:split &max=2 ':' $line | take 1) }
}

# What an option may have behind it, as its own word or behind an equals sign.
var @ID@-values = [
@VALUES@]

# The options that take the next word.
var @ID@-taking = [
@TAKING@]

# Where the program is in a line; nothing before it comes.
fn @ID@-program {|words|
    var at = (num 1)
    var last = (- (count $words) 1)
    var found = $nil
    while (and (eq $found $nil) (<= $at $last)) {
        if (str:has-prefix $words[$at] '-') {
            set at = (+ $at (if (has-key $@ID@-taking $words[$at]) { put 2 } else { put 1 }))
        } else {
            set found = $at
        }
    }
    put $found
}

var @ID@-frame = $edit:completion:arg-completer[@ID@]
set edit:completion:arg-completer[@ID@] = {|@words|
    var last = $words[-1]
    var before = $words[-2]
    var program = (@ID@-program $words)
    if (and (str:has-prefix $last '--') (str:contains $last '=')) {
        var option = $last[0..(str:index $last '=')]
        if (has-key $@ID@-values $option) {
            $@ID@-values[$option] | each {|value|
                put $option'='(if (eq (kind-of $value) string) { put $value } else { put $value[stem] })
            }
        }
    } elif (and (has-key $@ID@-taking $before) (not (has-key $@ID@-values $before))) {
        edit:complete-filename $last
    } elif (has-key $@ID@-taking $before) {
        $@ID@-values[$before]
    } elif (or (eq $program $nil) (str:has-prefix $last '-')) {
        $@ID@-frame @ID@ $last
@PROGRAM@    } else {
        edit:complete-filename $last
    }
}
