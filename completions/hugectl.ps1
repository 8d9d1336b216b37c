
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'hugectl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'hugectl'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'hugectl' {
            [CompletionResult]::new('--text', '--text', [CompletionResultType]::ParameterName, 'Put code and read-only data on huge pages: those of the file itself, of the default size, of SIZE, or transparent ones; where text is a copy, some crash reports lose names: see hugeedit --align')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'Put initialised data on huge pages, and bss with it')
            [CompletionResult]::new('--bss', '--bss', [CompletionResultType]::ParameterName, 'Put data that starts as zero on huge pages, and data with it; where both have a size, that of --data counts')
            [CompletionResult]::new('--heap', '--heap', [CompletionResultType]::ParameterName, 'Put what malloc hands out on huge pages: of the default size, of SIZE, or transparent ones')
            [CompletionResult]::new('--heap-engine', '--heap-engine', [CompletionResultType]::ParameterName, 'Who serves the heap: arena (our malloc; the default) or libc (the program''s own glibc, told by GLIBC_TUNABLES; the default for static programs)')
            [CompletionResult]::new('--shm', '--shm', [CompletionResultType]::ParameterName, 'Put shared memory on huge pages: shmget, shared anonymous mappings, and files in memory on transparent ones')
            [CompletionResult]::new('--anon', '--anon', [CompletionResultType]::ParameterName, 'Put large private memory that the program maps by itself on transparent huge pages, as its own allocator or virtual machine does; with a SIZE, too, since pages of a pool cannot be freed in part')
            [CompletionResult]::new('--anon-min', '--anon-min', [CompletionResultType]::ParameterName, 'With --anon: mappings of this length and more; one huge page by default')
            [CompletionResult]::new('--stack', '--stack', [CompletionResultType]::ParameterName, 'Put the main thread''s stack and those of its threads on transparent huge pages; with a SIZE, too, since pages of a pool have no place in a stack that grows. With --pid: the main thread''s')
            [CompletionResult]::new('--stack-depth', '--stack-depth', [CompletionResultType]::ParameterName, 'With --stack: so much of each stack is there before it is used')
            [CompletionResult]::new('--thp-policy', '--thp-policy', [CompletionResultType]::ParameterName, 'Transparent huge pages of the program and of all that it starts: always (bans are lifted, one that was inherited and the program''s own), advised (only where it asks for them; Linux 6.18) or never')
            [CompletionResult]::new('--fallback', '--fallback', [CompletionResultType]::ParameterName, 'What follows when huge pages run out: thp (transparent ones, then base pages; the default), base (base pages at once) or none (the request fails)')
            [CompletionResult]::new('--disable', '--disable', [CompletionResultType]::ParameterName, 'Leave text, data and bss where they are, also those that are marked in the file; WORD has no meaning')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Each process takes at most this much of the pools for its private memory: SIZE in all, or one part of N of each pool')
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'Only programs of these names get huge pages, not the shells and starters that lead to them')
            [CompletionResult]::new('--require', '--require', [CompletionResultType]::ParameterName, 'Do not start the program, or fail its request, where less of a segment (text, data, bss, heap, shm, anon, stack) is on huge pages: PERCENT of it, or all that lies in whole huge pages; asks for the segment, too')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'When the program ends, say what was on huge pages: a table on standard error, or JSON lines appended to FILE')
            [CompletionResult]::new('--status', '--status', [CompletionResultType]::ParameterName, 'Say what running processes have on huge pages: by number, by name, or all that have any')
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'With --status or --pid: again and again, each SECONDS, until the processes have ended')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colours in what people read: auto (on a terminal, unless NO_COLOR is set; the default), always or never')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'Print what tells a service or a container of all this, in which hugectl starts nothing: a drop-in for a UNIT of systemd, lines of an environment file (with PROGRAM or without), options of docker run, parts of a pod')
            [CompletionResult]::new('--sysroot', '--sysroot', [CompletionResultType]::ParameterName, 'With --status, --dry-run or --explain: read the kernel''s state below DIR')
            [CompletionResult]::new('--pid', '--pid', [CompletionResultType]::ParameterName, 'Put the memory of running programs on transparent huge pages: by number or by name; their heap, stack, bss and other private memory, or those of --text, --data, --bss, --heap, --stack, --shm and --anon that are given')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'With --pid: take at most so much of one CPU; 25 by default')
            [CompletionResult]::new('--touched', '--touched', [CompletionResultType]::ParameterName, 'With --pid: leave a huge page of which less than so much is touched; 50 by default')
            [CompletionResult]::new('--library-path', '--library-path', [CompletionResultType]::ParameterName, 'Take the library from this directory, or from the prefix it is installed below')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say as much as N tells: 0 nothing, 1 errors, 2 warnings (the default), 3 what was found and decided, 4 all; 99 for the program''s library, too')
            [CompletionResult]::new('--messages', '--messages', [CompletionResultType]::ParameterName, 'Keep messages, also those of the libraries in all that the program starts, off standard error: append them to FILE, or write them to a descriptor that is open')
            [CompletionResult]::new('--auto', '--auto', [CompletionResultType]::ParameterName, 'Choose by what is known of the program, and say what was chosen and why; other options count besides, and before it')
            [CompletionResult]::new('--text-libs', '--text-libs', [CompletionResultType]::ParameterName, 'The code of shared libraries, too; implies --text')
            [CompletionResult]::new('--thp', '--thp', [CompletionResultType]::ParameterName, 'The heap on transparent huge pages, as --heap=thp')
            [CompletionResult]::new('--share-text', '--share-text', [CompletionResultType]::ParameterName, 'One copy of the text for all processes that run the program, where it must be copied')
            [CompletionResult]::new('--no-reserve', '--no-reserve', [CompletionResultType]::ParameterName, 'Let the kernel promise no pages of a pool beforehand')
            [CompletionResult]::new('--no-inherit', '--no-inherit', [CompletionResultType]::ParameterName, 'Only PROGRAM gets huge pages, not the programs that it starts')
            [CompletionResult]::new('--perf-map', '--perf-map', [CompletionResultType]::ParameterName, 'Write /tmp/perf-PID.map where text is a copy, so that perf finds its symbols')
            [CompletionResult]::new('--tree', '--tree', [CompletionResultType]::ParameterName, 'With --status: the processes that these have started, too')
            [CompletionResult]::new('--sizes', '--sizes', [CompletionResultType]::ParameterName, 'With --status, as root: what sizes of folios really lie in each segment, multi-size THP included')
            [CompletionResult]::new('--totals', '--totals', [CompletionResultType]::ParameterName, 'With --status: only what each process has in all, which the kernel adds up; cheap where there are many processes or mappings')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'What goes to the terminal as JSON')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print what would be done, as shell commands, and do nothing')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Say what each segment would get, what would fall short, why, and what mends it, and do nothing; status 0 when all that is asked for will be had, else 3')
            [CompletionResult]::new('--children', '--children', [CompletionResultType]::ParameterName, 'With --pid: the processes that these have started, too')
            [CompletionResult]::new('--undo', '--undo', [CompletionResultType]::ParameterName, 'Not possible: says so, and why it is not needed')
            [CompletionResult]::new('--no-preload', '--no-preload', [CompletionResultType]::ParameterName, 'Set the variables only, for a program linked with the library')
            [CompletionResult]::new('--force-preload', '--force-preload', [CompletionResultType]::ParameterName, 'Preload even where it looks useless, or unwise for this program')
            [CompletionResult]::new('--library-use-path', '--library-use-path', [CompletionResultType]::ParameterName, 'Name the library only, and let the loader find it')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more: what was found and decided')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
