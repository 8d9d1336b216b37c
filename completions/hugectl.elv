
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
            cand --text 'Code and read-only data'
            cand --data 'Initialised data, and bss with it'
            cand --bss 'Zero-initialised data, and data with it'
            cand --heap 'Memory that malloc returns'
            cand --heap-engine 'Which malloc: arena (ours) or libc''s'
            cand --shm 'Shared memory (shmget, mmap, memfd)'
            cand --anon 'Large private mappings of the program'
            cand --anon-min 'With --anon: minimum length of a mapping'
            cand --stack 'Stacks of all threads'
            cand --stack-depth 'With --stack: prefault BYTES of each'
            cand --thp-policy 'THP by prctl: always, advised or never'
            cand --fork 'Keep private memory on the pool at forks'
            cand --fallback 'What follows the pool; thp by default'
            cand --disable 'Leave text, data and bss alone'
            cand --limit 'Limit pool memory of each process'
            cand --next-touch 'Move memory to its next toucher''s node'
            cand --only 'Only programs with these names'
            cand --require 'Refuse to start with less, as in text:90,heap'
            cand --report 'Print what was on huge pages at the end'
            cand --status 'Show what processes have on huge pages'
            cand --watch 'Repeat --status or --pid'
            cand --color 'Colours: auto, always or never'
            cand --emit 'Print settings for a service'
            cand --sysroot 'Read the kernel''s state below DIR'
            cand --pid 'Move a program''s memory to huge pages'
            cand --budget 'With --pid: share of a CPU; default 25'
            cand --touched 'With --pid: skip less touched pages'
            cand --compare 'Run in several ways; say which is faster'
            cand --rounds 'Stop after N rounds'
            cand --within 'Stop at intervals this narrow; default 1'
            cand --time 'Stop after SECONDS; default 60'
            cand --metric 'Compare a figure that it prints, not time'
            cand --driver 'PROGRAM is a server; time this command'
            cand --ready 'Sign of a server that is ready'
            cand --plot 'Draw all runs as SVG'
            cand --library-path 'Directory or prefix of the library'
            cand --verbose '0 none, 1 errors, 2 warnings, 3 as -v, 4 all'
            cand --messages 'Send messages there, not to stderr'
            cand --auto 'Choose options known to suit the program'
            cand --text-libs 'Code of shared libraries; implies --text'
            cand --thp 'Same as --heap=thp; needs no pool'
            cand --share-text 'Share one copy of the text'
            cand --no-reserve 'Don''t reserve pool pages (MAP_NORESERVE)'
            cand --no-inherit 'Only PROGRAM, not what it starts'
            cand --perf-map 'Write /tmp/perf-PID.map if text is a copy'
            cand --tree 'With --status: their children, too'
            cand --sizes 'With --status, as root: folio sizes'
            cand --totals 'With --status: one line per process'
            cand --json 'Print JSON instead of text'
            cand --dry-run 'Print shell commands; start nothing'
            cand --explain 'Predict pages, shortfalls and cures'
            cand --children 'With --pid: their children, too'
            cand --undo 'Not possible: says so, and why it is not needed'
            cand --higher-is-better 'A higher figure is better'
            cand --same-output 'All ways must print the same'
            cand --no-preload 'Only set variables, for linked programs'
            cand --force-preload 'Preload even if it looks useless or unwise'
            cand --library-use-path 'Let the loader find the library by name'
            cand -v 'Print more: findings and decisions'
            cand -q 'Print less'
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
    &--fork={ put kernel }
    &--fallback={ put thp base none }
    &--limit={ hugectl-sizes }
    &--next-touch={ hugectl-sizes }
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
    &--fork=$true
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
