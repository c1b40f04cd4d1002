//! The command lines, with a test for each family.

use super::expect;

#[test]
fn mutilates_streams() {
    expect(
        "mutilate.txt",
        &[
            "mutilate -s @ -t 1",
            "mutilate -s @ -t 1 -q 500",
            "mutilate -s @ -t 1 -q 500 -u 0.1 -T 2 -c 2 -B -K fb_key -V fb_value -i fb_ia",
            "2>&1 mutilate -s @ -t 1 -q 500",
            "mutilate -s @ -t 1 -q 500 -v",
            "mutilate -s @ -t 1 -q 500 -T 2 -c 2 -w 1 -W 1 -vv",
            "mutilate -s @ -t 1 -q 500 -Q 5 -D 2",
            "mutilate -s @ -t 1 -q 500 -Q 5 --notes",
            "mutilate -s @ -t 1 -q 500 -Q 5 --notes --quiet",
            "MEMTIDE_NOTES=1 mutilate -s @ -t 1 -q 500",
            "MEMTIDE_NOTES=0 mutilate -s @ -t 1 -q 500",
            "MEMTIDE_NOTES=yes mutilate -s @ -t 1 -q 500",
            "mutilate -s @ -t 1 --scan 500:1000:500",
            "2>&1 mutilate -s @ -t 1 --scan 500:1000:500 -v",
            "mutilate -s @ -t 1 --search 99.9:9000000 -q 500",
            "mutilate -s @ -t 1 --search 95:9000000 -q 500 -u 1.0 --quiet",
            "mutilate -s @ --loadonly",
            "mutilate -s @ -M -t 1 -q 500",
            "mutilate -s @ -s @ -t 1 -q 500",
            "mutilate -s @ -t 1 -q 100000 -d 4",
            "INT mutilate -s @ -t 50 -q 1000 --noload",
            "TERM mutilate -s @ -t 50 -q 1000 --noload",
            "HUP mutilate -s @ -t 50 -q 1000 --noload",
            "TERM mutilate -s @ -t 1 --scan 500:500:0 --noload",
            "mutilate --version",
            "mutilate -s @ -q 10k",
            "mutilate -s @ -d 0",
            "mutilate -s 127.0.0.1:1 -t 1",
        ],
    );
}

#[test]
fn mcperfs_streams() {
    expect(
        "mcperf.txt",
        &[
            "mcperf -s @ -t 1 -q 500",
            "2>&1 mcperf -s @ -t 1 -q 500 -T 2 -c 2 -w 1 -r 1000",
            "mcperf -s @ -t 1 -q 500 -T 2 -w 1 -v",
            "mcperf -s @ -t 1 -q 500 -T 2 -vv",
            "mcperf -s @ -t 1 -q 500 -r 20000 --notes",
            "mcperf -s @ -t 1 --scan 500:1000:500 --noload",
            "mcperf -s @ -t 1 --search 999:9000000 -q 500",
            "mcperf -s @ -t 1 --search avg:9000000 -q 500 --notes",
            "mcperf -s @ --loadonly",
            "mcperf -s @,@ -t 1 -q 500",
            "mcperf -s @ -t 1 -q 100000",
            "INT mcperf -s @ -t 50 -q 1000 --noload",
            "TERM mcperf -s @ -t 50 -q 1000 --noload",
            "HUP mcperf -s @ -t 50 -q 1000 --noload",
            "INT mcperf -s @ -t 1 --scan 500:500:0 --noload",
            "TERM mcperf -s @ -t 1 --scan 500:500:0 --noload",
            "HUP mcperf -s @ -t 1 --scan 500:500:0 --noload",
            "mcperf -s @ -t 1 -a nowhere:0",
            "mcperf -t 1",
            "mcperf -s @ --nothing",
        ],
    );
}

#[test]
fn names_folders_and_words_choose_the_mcperf() {
    expect(
        "names.txt",
        &[
            "mcperf-dynamic -s @ -t 1 -q 500",
            "2>&1 mcperf-dynamic -s @ -t 1 --scan 500:1000:500",
            "mcperf -s @ --qps_interval 0.5 --qps_target 500,1000",
            "MEMTIDE_MCPERF=dynamic mcperf -s @ -t 1 -q 500",
            "MEMTIDE_MCPERF=dynamic mcperf -s @ -t 1 --scan 500:1000:500 -v",
            "MEMTIDE_MCPERF=0.3 mcperf -s @ -t 1 --qps_interval 1",
            "MEMTIDE_MCPERF=0.3 mcperf -s @ -t 1 -q 500 -p @p",
            "MEMTIDE_MCPERF=twemperf mcperf -s @h -p @p -t 1",
            "MEMTIDE_MCPERF=perf mcperf -s @ -t 1",
            "INT mcperf-dynamic -s @ -t 50 -q 1000 --noload",
            "TERM mcperf-dynamic -s @ -t 1 --scan 500:500:0 --noload",
            "memcache-perf-dynamic/mcperf -s @ -t 1 -q 500",
            "2>&1 memcache-perf-dynamic/mcperf -s @ -t 1 --scan 500:1000:500",
            "memcache-perf/mcperf -s @ -t 1 -q 500",
            "memcache-perf/mcperf -s @ -t 1 --num-conns=2",
            "bin/mcperf -s @ -t 1 -q 500",
            "bin/mcperf -s @h -p @p",
            "bin/mcperf -s @h -p @p -n 2 -N 3 -m get",
            "bin/mcperf --server @h --port @p --timeout=5 --prefix=x: --expiry 10",
            "bin/mcperf -s @h -p @p -q 10k -n 1",
            "bin/mutilate -s @ -t 1 -q 500",
            "bin/mcperf-0.3 -s @ -t 1 -q 500",
            "twemperf/mcperf -s @h -p @p -q",
            "bin/twemperf -s @h -p @p",
        ],
    );
}

#[test]
fn twemperfs_streams() {
    expect(
        "twemperf.txt",
        &[
            "twemperf -s @h -p @p -n 5 -N 5 -r 100 -R 100",
            "2>&1 twemperf -s @h -p @p -n 5 -N 5",
            "twemperf -s @h -p @p -n 2 -z 100 -v 11",
            "twemperf -s @h -p @p -n 2 -z 100 --notes",
            "twemperf -s @h -p @p -n 2 -N 2 --report-stdout",
            "twemperf -s @h -p 1 -n 2",
            "twemperf -n x",
            "INT twemperf -s @h -p @p -n 2 -r 100 -R 1000 -N 1000000",
            "TERM twemperf -s @h -p @p -n 2 -r 100 -R 1000 -N 1000000",
            "HUP twemperf -s @h -p @p -n 2 -r 100 -R 1000 -N 1000000",
        ],
    );
}

#[test]
fn memaslaps_streams() {
    expect(
        "memaslap.txt",
        &[
            "memaslap -s @ -t 1s",
            "2>&1 memaslap -s @ -x 1000",
            "memaslap -s @ -x 1000 -c 4 -T 2 -v 0.5 -b",
            "memaslap -s @ -t 1s -P 1k --notes",
            "memcaslap -s @,@ -x 1000 -T 2 -c 4",
            "memaslap -s @ -t 5",
            "memaslap",
            "memaslap -V",
            "INT memaslap -s @ -t 50s",
            "TERM memaslap -s @ -t 50s",
            "HUP memaslap -s @ -t 50s",
        ],
    );
}
