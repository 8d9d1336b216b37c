
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'ld.hugetlbfs' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'ld.hugetlbfs'
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
        'ld.hugetlbfs' {
            [CompletionResult]::new('--hugetlbfs-align', '--hugetlbfs-align', [CompletionResultType]::ParameterName, 'Put segments into huge pages of their own, and add the library')
            [CompletionResult]::new('--hugetlbfs-link', '--hugetlbfs-link', [CompletionResultType]::ParameterName, 'The same, and mark bss and data (B), or text as well (BDT)')
            [CompletionResult]::new('--hugetlbfs-script-path', '--hugetlbfs-script-path', [CompletionResultType]::ParameterName, 'Without effect: no linker scripts are used')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
