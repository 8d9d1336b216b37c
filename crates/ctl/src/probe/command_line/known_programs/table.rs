//! The table of known programs. The first entry that matches a program counts.

use super::Choice::{Anon, Heap, HeapThp, Shm, Text, ThpAlways};
use super::{KnownProgram, Reach, ServedIf, program};

/// Advice that holds for any private memory.
const ALWAYS: &str = "hugeadm --thp-always reaches it, or hugectl --pid once it runs";

/// The entry for all programs that no other entry matches.
pub(crate) static OTHERS: KnownProgram =
    program("an unknown program", &[]).auto(&[Heap], "most programs take their memory from malloc");

pub(super) static PROGRAMS: &[KnownProgram] = &[
    program("Java", &["java"])
        .needs(&["libjli.so", "libjvm.so"])
        .memory(
            "the Java heap",
            Reach::All,
            ServedIf::Words(&["-XX:+UseTransparentHugePages", "-XX:+UseLargePages"]),
        )
        .advice("java -XX:+UseTransparentHugePages, or -XX:+UseLargePages with a pool")
        .auto(
            &[Anon, HeapThp],
            "the Java heap is a mapping of its own, and what native code allocates is malloc's",
        )
        .caveat("with -XX:+UseLargePages all of -Xmx is taken from the pool at the start"),
    program("Node.js", &["node", "nodejs", "deno"])
        .needs(&["libnode.so"])
        .memory("the heap of JavaScript", Reach::Part, ServedIf::ThpAlways)
        .advice("hugectl --pid reaches a part of it once it runs, hugeadm --thp-always less")
        .auto(
            &[Anon, HeapThp],
            "large objects of JavaScript are mappings of their own, and buffers are malloc's; \
             small objects lie in mappings of 256 kB, which stay on base pages",
        ),
    program("Bun", &["bun", "bunx"])
        .memory("the heap of JavaScript", Reach::All, ServedIf::Words(&[]))
        .advice("hugectl --pid reaches it once it runs")
        .auto(
            &[Anon],
            "the heap of JavaScript and its buffers are mappings; its malloc is its own",
        ),
    program("PHP", &["php", "php-fpm", "php-cgi"])
        .memory(
            "the memory of PHP scripts",
            Reach::All,
            ServedIf::Words(&["USE_ZEND_ALLOC_HUGE_PAGES=1"]),
        )
        .advice("USE_ZEND_ALLOC_HUGE_PAGES=1 in its environment")
        .auto(
            &[Anon, HeapThp],
            "the memory of scripts comes from mmap, and that of extensions from malloc",
        )
        .caveat(
            "with its own switch PHP takes pages of the pool first, and a child that it forks can \
             be killed when the pool is empty",
        ),
    program("Python", &["python"])
        .memory(
            "the memory of Python's small objects",
            Reach::None,
            ServedIf::Words(&["PYTHONMALLOC=malloc"]),
        )
        .advice("PYTHONMALLOC=malloc in its environment makes malloc serve them")
        .auto(
            &[Heap],
            "arrays, tables and what extensions allocate are malloc's",
        ),
    program("Ruby", &["ruby"])
        .needs(&["libruby"])
        .advice("hugectl --thp-policy=always lets it have transparent huge pages")
        .bans_thp()
        .auto(
            &[Heap],
            "it allocates with malloc, except the slots of small objects",
        )
        .caveat(
            "it turns transparent huge pages off for itself: without --thp-policy=always only \
             pages of a pool reach it",
        ),
    program("Erlang", &["beam.smp", "erl", "elixir", "iex"])
        .memory(
            "the memory of Erlang processes",
            Reach::All,
            ServedIf::ThpAlways,
        )
        .advice("hugeadm --thp-always reaches it")
        .auto(
            &[Anon, HeapThp],
            "the memory of Erlang processes are mappings, and what drivers allocate is malloc's",
        ),
    program("MariaDB or MySQL", &["mariadbd", "mysqld"])
        .memory(
            "the buffer pool of the database",
            Reach::All,
            ServedIf::Words(&["--large-pages", "--large_pages"]),
        )
        .advice(
            "its own option --large-pages takes pages of a pool that holds the buffer pool and \
             about 250 MB more",
        )
        .bans_thp()
        .auto(
            &[Anon, ThpAlways],
            "its buffer pool is a mapping of its own, and it turns transparent huge pages off \
             for itself",
        ),
    program("PostgreSQL", &["postgres", "postmaster", "pg_ctl"])
        .advice(
            "huge_pages=on in postgresql.conf takes pages of a pool for the shared buffers, or \
             does not start",
        )
        .auto(
            &[Shm],
            "its memory is the shared buffers; each connection is a process with a small heap \
             of its own",
        )
        .caveat(
            "start it as its user; Debian's pg_ctlcluster drops the environment, which hugectl \
             --emit=environment --shm mends",
        ),
    program(
        "Redis",
        &[
            "redis-server",
            "redis-check-rdb",
            "redis-check-aof",
            "redis-sentinel",
            "valkey-server",
            "keydb-server",
        ],
    )
    .advice(
        "disable-thp no in its configuration lets it have transparent huge pages after \
         hugeadm --thp-always",
    )
    .auto(
        &[Anon, HeapThp, ThpAlways],
        "its allocator takes mappings, or is malloc; it saves by fork: what is on pages of a \
         pool would be moved or copied then",
    )
    .caveat("while it saves, each write to a transparent huge page copies the whole page"),
    program("memcached", &["memcached"])
        .advice("its own option -L")
        .auto(&[Heap], "its slabs are malloc's, and it does not fork"),
    program("MongoDB", &["mongod", "mongos"])
        .memory(
            "what the tcmalloc in the program hands out",
            Reach::None,
            ServedIf::ThpAlways,
        )
        .advice(ALWAYS)
        .auto(
            &[Text],
            "its code is large, and the allocator inside takes its memory in pieces smaller than \
             a huge page",
        ),
    program("nginx", &["nginx"])
        .auto(
            &[Shm],
            "its zones of caches and limits are shared memory; the heap of each worker is small",
        )
        .caveat(
            "after an upgrade of its binary (SIGUSR2) it has no huge pages, unless nginx.conf keeps \
             the variables: env LD_PRELOAD; env HUGETLB_SHM;",
        ),
    program(
        "QEMU",
        &[
            "qemu-system-x86_64",
            "qemu-system-aarch64",
            "qemu-system-ppc64",
            "qemu-system-s390x",
            "qemu-system-riscv64",
            "kvm",
        ],
    )
    .advice(
        "-object memory-backend-memfd,hugetlb=on,id=ram,size=SIZE with -machine \
         memory-backend=ram takes pages of a pool",
    )
    .auto(&[Anon], "the memory of a guest is a mapping")
    .caveat("a guest whose devices are passed through has all of its memory pinned"),
    program("Open MPI", &["mpirun", "mpiexec", "orterun", "prterun"])
        .auto(&[Heap], "each rank inherits it on this machine")
        .caveat(
            "ranks on other machines do not: there hugectl goes in front of the program, as in \
             mpirun hugectl --auto PROGRAM",
        ),
    program("Go", &[])
        .is_go()
        .memory("Go's own heap", Reach::None, ServedIf::ThpAlways)
        .advice(ALWAYS)
        .auto(
            &[HeapThp],
            "the memory of its C parts is malloc's; no library sees its own heap",
        )
        .caveat("Go calls the kernel without the C library"),
];
