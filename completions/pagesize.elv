
use builtin;
use str;

set edit:completion:arg-completer[pagesize] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'pagesize'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'pagesize'= {
            cand --sysroot 'Read a recorded /proc and /sys below DIR instead of this machine''s'
            cand -a 'Show all page sizes: that of ordinary pages, then those of huge pages'
            cand --all 'Show all page sizes: that of ordinary pages, then those of huge pages'
            cand -H 'Show the sizes of huge pages only, also with --all'
            cand --huge-only 'Show the sizes of huge pages only, also with --all'
            cand --json 'Print the result as one JSON document'
            cand -h 'Print help'
            cand --help 'Print help'
            cand --version 'Print the version'
        }
    ]
    $completions[$command]
}
