complete -c hugeadm -l pool-pages-min -d 'Set how many pages a pool keeps; may be repeated' -r
complete -c hugeadm -l pool-pages-max -d 'Set how many pages a pool may grow to on demand; may be repeated' -r
complete -c hugeadm -l set-shm-group -d 'Let the members of a group (name or number) make shared memory of huge pages' -r
complete -c hugeadm -l verbose -d 'Say more: 0 nothing, 1 errors, 2 warnings (the default), 3 every change, 4 all' -r
complete -c hugeadm -l sysroot -d 'Work on a recorded /proc and /sys below DIR instead of this machine' -r -f -a "(__fish_complete_directories)"
complete -c hugeadm -l pool-list -d 'Show all pools: page size, minimum, current and maximum pages'
complete -c hugeadm -l page-sizes -d 'Show the page sizes, in bytes, that can be used: with a pool and a mount'
complete -c hugeadm -l page-sizes-all -d 'Show all huge page sizes of this machine, in bytes'
complete -c hugeadm -l list-all-mounts -d 'Show all hugetlbfs mounts and their options'
complete -c hugeadm -l create-mounts -d 'Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root'
complete -c hugeadm -l create-global-mounts -d 'Mount each page size on /var/lib/hugetlbfs/global/pagesize-SIZE, for everybody'
complete -c hugeadm -s d -l dry-run -d 'Print the equivalent shell commands and change nothing'
complete -c hugeadm -s v -d 'Say one level more'
complete -c hugeadm -l json -d 'Print the result as one JSON document'
complete -c hugeadm -s h -l help -d 'Print help: -h in short, --help in full'
complete -c hugeadm -l version -d 'Print the version'
