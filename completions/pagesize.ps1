
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'pagesize' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'pagesize'
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
        'pagesize' {
            [CompletionResult]::new('--sysroot', '--sysroot', [CompletionResultType]::ParameterName, 'Read a recorded /proc and /sys below DIR instead of this machine''s')
            [CompletionResult]::new('-a', '-a', [CompletionResultType]::ParameterName, 'Show all page sizes: that of ordinary pages, then those of huge pages')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'Show all page sizes: that of ordinary pages, then those of huge pages')
            [CompletionResult]::new('-H', '-H ', [CompletionResultType]::ParameterName, 'Show the sizes of huge pages only, also with --all')
            [CompletionResult]::new('--huge-only', '--huge-only', [CompletionResultType]::ParameterName, 'Show the sizes of huge pages only, also with --all')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
