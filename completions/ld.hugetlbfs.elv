
use builtin;
use str;

set edit:completion:arg-completer[ld.hugetlbfs] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'ld.hugetlbfs'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'ld.hugetlbfs'= {
            cand --hugetlbfs-align 'Put segments into huge pages of their own, and add the library'
            cand --hugetlbfs-link 'The same, and mark bss and data (B), or text as well (BDT)'
            cand --hugetlbfs-script-path 'Without effect: no linker scripts are used'
        }
    ]
    $completions[$command]
}
