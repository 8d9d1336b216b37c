complete -c ld.hugetlbfs -l hugetlbfs-align -d 'Put segments into huge pages of their own, and add the library' -r
complete -c ld.hugetlbfs -l hugetlbfs-link -d 'The same, and mark bss and data (B), or text as well (BDT)' -r -f -a "B\t''
BDT\t''"
complete -c ld.hugetlbfs -l hugetlbfs-script-path -d 'Without effect: no linker scripts are used' -r
