
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
            [CompletionResult]::new('--text', '--text', [CompletionResultType]::ParameterName, 'Code and read-only data')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'Initialised data, and bss with it')
            [CompletionResult]::new('--bss', '--bss', [CompletionResultType]::ParameterName, 'Zero-initialised data, and data with it')
            [CompletionResult]::new('--heap', '--heap', [CompletionResultType]::ParameterName, 'Memory that malloc returns')
            [CompletionResult]::new('--heap-engine', '--heap-engine', [CompletionResultType]::ParameterName, 'Which malloc: arena (ours) or libc''s')
            [CompletionResult]::new('--shm', '--shm', [CompletionResultType]::ParameterName, 'Shared memory (shmget, mmap, memfd)')
            [CompletionResult]::new('--anon', '--anon', [CompletionResultType]::ParameterName, 'Large private mappings of the program')
            [CompletionResult]::new('--anon-min', '--anon-min', [CompletionResultType]::ParameterName, 'With --anon: minimum length of a mapping')
            [CompletionResult]::new('--stack', '--stack', [CompletionResultType]::ParameterName, 'Stacks of all threads')
            [CompletionResult]::new('--stack-depth', '--stack-depth', [CompletionResultType]::ParameterName, 'With --stack: prefault BYTES of each')
            [CompletionResult]::new('--thp-policy', '--thp-policy', [CompletionResultType]::ParameterName, 'THP by prctl: always, advised or never')
            [CompletionResult]::new('--fork', '--fork', [CompletionResultType]::ParameterName, 'Keep private memory on the pool at forks')
            [CompletionResult]::new('--fallback', '--fallback', [CompletionResultType]::ParameterName, 'What follows the pool; thp by default')
            [CompletionResult]::new('--disable', '--disable', [CompletionResultType]::ParameterName, 'Leave text, data and bss alone')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Limit pool memory of each process')
            [CompletionResult]::new('--next-touch', '--next-touch', [CompletionResultType]::ParameterName, 'Move memory to its next toucher''s node')
            [CompletionResult]::new('--only', '--only', [CompletionResultType]::ParameterName, 'Only programs with these names')
            [CompletionResult]::new('--require', '--require', [CompletionResultType]::ParameterName, 'Refuse to start with less, as in text:90,heap')
            [CompletionResult]::new('--report', '--report', [CompletionResultType]::ParameterName, 'Print what was on huge pages at the end')
            [CompletionResult]::new('--status', '--status', [CompletionResultType]::ParameterName, 'Show what processes have on huge pages')
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'Repeat --status or --pid')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'Colours: auto, always or never')
            [CompletionResult]::new('--emit', '--emit', [CompletionResultType]::ParameterName, 'Print settings for a service')
            [CompletionResult]::new('--sysroot', '--sysroot', [CompletionResultType]::ParameterName, 'Read the kernel''s state below DIR')
            [CompletionResult]::new('--pid', '--pid', [CompletionResultType]::ParameterName, 'Move a program''s memory to huge pages')
            [CompletionResult]::new('--budget', '--budget', [CompletionResultType]::ParameterName, 'With --pid: share of a CPU; default 25')
            [CompletionResult]::new('--touched', '--touched', [CompletionResultType]::ParameterName, 'With --pid: skip less touched pages')
            [CompletionResult]::new('--compare', '--compare', [CompletionResultType]::ParameterName, 'Run in several ways; say which is faster')
            [CompletionResult]::new('--rounds', '--rounds', [CompletionResultType]::ParameterName, 'Stop after N rounds')
            [CompletionResult]::new('--within', '--within', [CompletionResultType]::ParameterName, 'Stop at intervals this narrow; default 1')
            [CompletionResult]::new('--time', '--time', [CompletionResultType]::ParameterName, 'Stop after SECONDS; default 60')
            [CompletionResult]::new('--metric', '--metric', [CompletionResultType]::ParameterName, 'Compare a figure that it prints, not time')
            [CompletionResult]::new('--driver', '--driver', [CompletionResultType]::ParameterName, 'PROGRAM is a server; time this command')
            [CompletionResult]::new('--ready', '--ready', [CompletionResultType]::ParameterName, 'Sign of a server that is ready')
            [CompletionResult]::new('--plot', '--plot', [CompletionResultType]::ParameterName, 'Draw all runs as SVG')
            [CompletionResult]::new('--library-path', '--library-path', [CompletionResultType]::ParameterName, 'Directory or prefix of the library')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, '0 none, 1 errors, 2 warnings, 3 as -v, 4 all')
            [CompletionResult]::new('--messages', '--messages', [CompletionResultType]::ParameterName, 'Send messages there, not to stderr')
            [CompletionResult]::new('--auto', '--auto', [CompletionResultType]::ParameterName, 'Choose options known to suit the program')
            [CompletionResult]::new('--text-libs', '--text-libs', [CompletionResultType]::ParameterName, 'Code of shared libraries; implies --text')
            [CompletionResult]::new('--thp', '--thp', [CompletionResultType]::ParameterName, 'Same as --heap=thp; needs no pool')
            [CompletionResult]::new('--share-text', '--share-text', [CompletionResultType]::ParameterName, 'Share one copy of the text')
            [CompletionResult]::new('--no-reserve', '--no-reserve', [CompletionResultType]::ParameterName, 'Don''t reserve pool pages (MAP_NORESERVE)')
            [CompletionResult]::new('--no-inherit', '--no-inherit', [CompletionResultType]::ParameterName, 'Only PROGRAM, not what it starts')
            [CompletionResult]::new('--perf-map', '--perf-map', [CompletionResultType]::ParameterName, 'Write /tmp/perf-PID.map if text is a copy')
            [CompletionResult]::new('--tree', '--tree', [CompletionResultType]::ParameterName, 'With --status: their children, too')
            [CompletionResult]::new('--sizes', '--sizes', [CompletionResultType]::ParameterName, 'With --status, as root: folio sizes')
            [CompletionResult]::new('--totals', '--totals', [CompletionResultType]::ParameterName, 'With --status: one line per process')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON instead of text')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Print shell commands; start nothing')
            [CompletionResult]::new('--explain', '--explain', [CompletionResultType]::ParameterName, 'Predict pages, shortfalls and cures')
            [CompletionResult]::new('--children', '--children', [CompletionResultType]::ParameterName, 'With --pid: their children, too')
            [CompletionResult]::new('--undo', '--undo', [CompletionResultType]::ParameterName, 'Not possible: says so, and why it is not needed')
            [CompletionResult]::new('--higher-is-better', '--higher-is-better', [CompletionResultType]::ParameterName, 'A higher figure is better')
            [CompletionResult]::new('--same-output', '--same-output', [CompletionResultType]::ParameterName, 'All ways must print the same')
            [CompletionResult]::new('--no-preload', '--no-preload', [CompletionResultType]::ParameterName, 'Only set variables, for linked programs')
            [CompletionResult]::new('--force-preload', '--force-preload', [CompletionResultType]::ParameterName, 'Preload even if it looks useless or unwise')
            [CompletionResult]::new('--library-use-path', '--library-use-path', [CompletionResultType]::ParameterName, 'Let the loader find the library by name')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more: findings and decisions')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print less')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print this help')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
