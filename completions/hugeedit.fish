complete -c hugeedit -l align -d 'Raise the alignment of the segments, so that huge pages of the file itself fit' -r
complete -c hugeedit -l text -d 'Mark text and unmark all other segments'
complete -c hugeedit -l data -d 'Mark data and unmark all other segments'
complete -c hugeedit -l disable -d 'Remove all marks'
complete -c hugeedit -l json -d 'Print the result as one JSON document'
complete -c hugeedit -s h -l help -d 'Print help: -h in short, --help in full'
complete -c hugeedit -l version -d 'Print the version'
