
use builtin;
use str;

set edit:completion:arg-completer[hugeedit] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'hugeedit'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'hugeedit'= {
            cand --align 'Raise the alignment of the segments, so that huge pages of the file itself fit'
            cand --text 'Mark text and unmark all other segments'
            cand --data 'Mark data and unmark all other segments'
            cand --disable 'Remove all marks'
            cand --json 'Print the result as one JSON document'
            cand -h 'Print help: -h in short, --help in full'
            cand --help 'Print help: -h in short, --help in full'
            cand --version 'Print the version'
        }
    ]
    $completions[$command]
}
