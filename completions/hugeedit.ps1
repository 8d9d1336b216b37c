
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'hugeedit' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'hugeedit'
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
        'hugeedit' {
            [CompletionResult]::new('--align', '--align', [CompletionResultType]::ParameterName, 'Raise the alignment of the segments, so that huge pages of the file itself fit')
            [CompletionResult]::new('--text', '--text', [CompletionResultType]::ParameterName, 'Mark text and unmark all other segments')
            [CompletionResult]::new('--data', '--data', [CompletionResultType]::ParameterName, 'Mark data and unmark all other segments')
            [CompletionResult]::new('--disable', '--disable', [CompletionResultType]::ParameterName, 'Remove all marks')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print the result as one JSON document')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help: -h in short, --help in full')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help: -h in short, --help in full')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
