complete -c pagesize -l sysroot -d 'Read a recorded /proc and /sys below DIR instead of this machine\'s' -r -f -a "(__fish_complete_directories)"
complete -c pagesize -s a -l all -d 'Show the sizes of base pages and huge pages'
complete -c pagesize -s H -l huge-only -d 'Show only the sizes of huge pages, even with --all'
complete -c pagesize -l json -d 'Print the result as one JSON document'
complete -c pagesize -s h -l help -d 'Print help'
complete -c pagesize -l version -d 'Print the version'
