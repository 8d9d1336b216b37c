
use builtin;
use str;

set edit:completion:arg-completer[hugectl] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'hugectl'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'hugectl'= {
            cand --text 'Put code and read-only data on huge pages: those of the file itself, of the default size, of SIZE, or transparent ones; where text is a copy, some crash reports lose names: see hugeedit --align'
            cand --data 'Put initialised data on huge pages, and bss with it'
            cand --bss 'Put data that starts as zero on huge pages, and data with it; where both have a size, that of --data counts'
            cand --heap 'Put what malloc hands out on huge pages: of the default size, of SIZE, or transparent ones'
            cand --heap-engine 'Who serves the heap: arena (our malloc; the default) or libc (the program''s own glibc, told by GLIBC_TUNABLES; the default for static programs)'
            cand --shm 'Put shared memory on huge pages: shmget, shared anonymous mappings, and files in memory on transparent ones'
            cand --anon 'Put large private memory that the program maps by itself on transparent huge pages, as its own allocator or virtual machine does; with a SIZE, too, since pages of a pool cannot be freed in part'
            cand --anon-min 'With --anon: mappings of this length and more; one huge page by default'
            cand --stack 'Put the main thread''s stack and those of its threads on transparent huge pages; with a SIZE, too, since pages of a pool have no place in a stack that grows. With --pid: the main thread''s'
            cand --stack-depth 'With --stack: so much of each stack is there before it is used'
            cand --thp-policy 'Transparent huge pages of the program and of all that it starts: always (bans are lifted, one that was inherited and the program''s own), advised (only where it asks for them; Linux 6.18) or never'
            cand --fallback 'What follows when huge pages run out: thp (transparent ones, then base pages; the default), base (base pages at once) or none (the request fails)'
            cand --disable 'Leave text, data and bss where they are, also those that are marked in the file; WORD has no meaning'
            cand --limit 'Each process takes at most this much of the pools for its private memory: SIZE in all, or one part of N of each pool'
            cand --only 'Only programs of these names get huge pages, not the shells and starters that lead to them'
            cand --require 'Do not start the program, or fail its request, where less of a segment (text, data, bss, heap, shm, anon, stack) is on huge pages: PERCENT of it, or all that lies in whole huge pages; asks for the segment, too'
            cand --report 'When the program ends, say what was on huge pages: a table on standard error, or JSON lines appended to FILE'
            cand --status 'Say what running processes have on huge pages: by number, by name, or all that have any'
            cand --watch 'With --status or --pid: again and again, each SECONDS, until the processes have ended'
            cand --color 'Colours in what people read: auto (on a terminal, unless NO_COLOR is set; the default), always or never'
            cand --emit 'Print what tells a service or a container of all this, in which hugectl starts nothing: a drop-in for a UNIT of systemd, lines of an environment file (with PROGRAM or without), options of docker run, parts of a pod'
            cand --sysroot 'With --status, --dry-run or --explain: read the kernel''s state below DIR'
            cand --pid 'Put the memory of running programs on transparent huge pages: by number or by name; their heap, stack, bss and other private memory, or those of --text, --data, --bss, --heap, --stack, --shm and --anon that are given'
            cand --budget 'With --pid: take at most so much of one CPU; 25 by default'
            cand --touched 'With --pid: leave a huge page of which less than so much is touched; 50 by default'
            cand --library-path 'Take the library from this directory, or from the prefix it is installed below'
            cand --verbose 'Say as much as N tells: 0 nothing, 1 errors, 2 warnings (the default), 3 what was found and decided, 4 all; 99 for the program''s library, too'
            cand --messages 'Keep messages, also those of the libraries in all that the program starts, off standard error: append them to FILE, or write them to a descriptor that is open'
            cand --auto 'Choose by what is known of the program, and say what was chosen and why; other options count besides, and before it'
            cand --text-libs 'The code of shared libraries, too; implies --text'
            cand --thp 'The heap on transparent huge pages, as --heap=thp'
            cand --share-text 'One copy of the text for all processes that run the program, where it must be copied'
            cand --no-reserve 'Let the kernel promise no pages of a pool beforehand'
            cand --no-inherit 'Only PROGRAM gets huge pages, not the programs that it starts'
            cand --perf-map 'Write /tmp/perf-PID.map where text is a copy, so that perf finds its symbols'
            cand --tree 'With --status: the processes that these have started, too'
            cand --sizes 'With --status, as root: what sizes of folios really lie in each segment, multi-size THP included'
            cand --totals 'With --status: only what each process has in all, which the kernel adds up; cheap where there are many processes or mappings'
            cand --json 'What goes to the terminal as JSON'
            cand --dry-run 'Print what would be done, as shell commands, and do nothing'
            cand --explain 'Say what each segment would get, what would fall short, why, and what mends it, and do nothing; status 0 when all that is asked for will be had, else 3'
            cand --children 'With --pid: the processes that these have started, too'
            cand --undo 'Not possible: says so, and why it is not needed'
            cand --no-preload 'Set the variables only, for a program linked with the library'
            cand --force-preload 'Preload even where it looks useless, or unwise for this program'
            cand --library-use-path 'Name the library only, and let the loader find it'
            cand -v 'Say more: what was found and decided'
            cand -q 'Say less'
            cand -h 'Print this help'
            cand --help 'Print this help'
            cand --version 'Print the version'
        }
    ]
    $completions[$command]
}

# What the machine and the line tell: this part is by hand, see
# tests/generated/shell.
use path
use re

fn hugectl-named {|kb|
    if (== (% $kb 1048576) 0) {
        put (/ $kb 1048576)GB
    } elif (== (% $kb 1024) 0) {
        put (/ $kb 1024)MB
    } else {
        put $kb'kB'
    }
}

fn hugectl-kb {|dir|
    num (str:trim-suffix (str:trim-prefix (path:base $dir) hugepages-) kB)
}

fn hugectl-sizes {
    for dir [/sys/kernel/mm/hugepages/hugepages-*[nomatch-ok]kB] {
        hugectl-named (hugectl-kb $dir)
    }
}

fn hugectl-pools {
    for dir [/sys/kernel/mm/hugepages/hugepages-*[nomatch-ok]kB] {
        put (hugectl-named (hugectl-kb $dir)):(str:trim-space (slurp < $dir/nr_hugepages))
    }
}

fn hugectl-modes {
    for dir [/sys/kernel/mm/transparent_hugepage/hugepages-*[nomatch-ok]kB] {
        put (str:trim-prefix (path:base $dir) hugepages-):{always inherit madvise never}
    }
}

fn hugectl-processes {
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
fn hugectl-accounts {|file|
    from-lines < $file | each {|line| put (str:split &max=2 ':' $line | take 1) }
}

# What an option may have behind it, as its own word or behind an equals sign.
var hugectl-values = [
    &--text={ hugectl-sizes; put thp }
    &--data={ hugectl-sizes; put thp }
    &--bss={ hugectl-sizes; put thp }
    &--heap={ hugectl-sizes; put thp }
    &--heap-engine={ put libc arena }
    &--shm={ hugectl-sizes; put thp }
    &--anon={ hugectl-sizes; put thp }
    &--anon-min={ hugectl-sizes }
    &--stack={ hugectl-sizes; put thp }
    &--thp-policy={ put always advised never }
    &--fallback={ put thp base none }
    &--limit={ hugectl-sizes }
    &--require={ put text data bss heap shm anon stack }
    &--status={ hugectl-processes }
    &--color={ put auto always never }
    &--emit={ put systemd environment docker kubernetes }
]

# The options that take the next word.
var hugectl-taking = [
    &--heap-engine=$true
    &--anon-min=$true
    &--stack-depth=$true
    &--thp-policy=$true
    &--fallback=$true
    &--limit=$true
    &--only=$true
    &--require=$true
    &--status=$true
    &--sysroot=$true
    &--pid=$true
    &--budget=$true
    &--touched=$true
    &--library-path=$true
    &--verbose=$true
    &--messages=$true
]

# Where the program is in a line; nothing before it comes.
fn hugectl-program {|words|
    var at = (num 1)
    var last = (- (count $words) 1)
    var found = $nil
    while (and (eq $found $nil) (<= $at $last)) {
        if (str:has-prefix $words[$at] '-') {
            set at = (+ $at (if (has-key $hugectl-taking $words[$at]) { put 2 } else { put 1 }))
        } else {
            set found = $at
        }
    }
    put $found
}

var hugectl-frame = $edit:completion:arg-completer[hugectl]
set edit:completion:arg-completer[hugectl] = {|@words|
    var last = $words[-1]
    var before = $words[-2]
    var program = (hugectl-program $words)
    if (and (str:has-prefix $last '--') (str:contains $last '=')) {
        var option = $last[0..(str:index $last '=')]
        if (has-key $hugectl-values $option) {
            $hugectl-values[$option] | each {|value|
                put $option'='(if (eq (kind-of $value) string) { put $value } else { put $value[stem] })
            }
        }
    } elif (and (has-key $hugectl-taking $before) (not (has-key $hugectl-values $before))) {
        edit:complete-filename $last
    } elif (has-key $hugectl-taking $before) {
        $hugectl-values[$before]
    } elif (or (eq $program $nil) (str:has-prefix $last '-')) {
        $hugectl-frame hugectl $last
    } elif (not (has-value $words --status)) {
        edit:complete-sudo hugectl (all $words[$program..])
    } elif (has-value $words --status) {
        hugectl-processes
    } else {
        edit:complete-filename $last
    }
}
