//! The parser against output of the original programs, from their pages and public logs: a parser
//! that accepted only our own text would prove nothing.

use crate::parser::{Dialect, Progress, progress, report, scan, waveform};

#[test]
fn a_report_of_mutilate() {
    let text = "\
#type       avg     std     min     5th    10th    90th    95th    99th
read       20.8    23.1    11.9    13.3    13.4    33.4    43.1    59.5
update      0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0
op_q        1.0     0.0     1.0     1.0     1.0     1.1     1.1     1.1

Total QPS = 4993.1 (149793 / 30.0s)

Misses = 1234 (0.0%)
Skipped TXs = 0 (0.0%)

RX   37058871 bytes :    1.2 MB/s
TX    5392548 bytes :    0.2 MB/s
";
    let read = report(Dialect::Mutilate, text).unwrap();
    assert_eq!(read.rows[0], [20.8, 23.1, 11.9, 13.3, 13.4, 33.4, 43.1, 59.5]);
    assert_eq!((read.total.ops, read.counts.misses.0), (149_793, 1234));
    assert_eq!(read.counts.received, (37_058_871, 1.2));
    assert!(report(Dialect::Mutilate2012, text).is_err());
    for (at, _) in text.match_indices('\n').skip(1) {
        assert!(report(Dialect::Mutilate, &text[..at]).is_err(), "cut at {at}");
    }
    for word in ["nan", "inf", "-0.1", "1.00"] {
        assert!(report(Dialect::Mutilate, &text.replace("20.8", word)).is_err(), "{word}");
    }
}

#[test]
fn a_report_of_mutilate_in_2012() {
    let text = "\
#type       avg     min     1st     5th    10th    90th    95th    99th
read      598.8    86.0   437.2   466.6   482.6   977.0  1075.8  1170.6
update      0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0
op_q        1.5     1.0     1.0     1.1     1.1     1.9     1.9     2.0

Total QPS = 318710.8 (1593559 / 5.0s)

Misses = 0 (0.0%)

RX  393609073 bytes :   75.1 MB/s
TX   57374136 bytes :   10.9 MB/s
";
    let read = report(Dialect::Mutilate2012, text).unwrap();
    assert_eq!((read.rows[0][7], read.counts.skipped), (1170.6, None));
}

#[test]
fn a_report_of_mcperf() {
    let text = "\
#type       avg     std     min      p5     p10     p50     p67     p75     p80     p85     \
p90     p95     p99    p999   p9999
read      106.0    67.7    37.2    80.0    84.3   101.7   108.8   113.1   116.1   120.2   126.0   \
136.4   180.2   612.3  2210.7
update      0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     \
0.0     0.0     0.0     0.0     0.0
op_q       10.0     0.0     1.0     9.4     9.4     9.7     9.8     9.8     9.9     9.9     9.9    \
10.0    10.0    10.0    10.0

Total QPS = 754451.6 (45267112 / 60.0s)

Total connections = 8
Misses = 0 (0.0%)
Skipped TXs = 0 (0.0%)

RX 11180976417 bytes :  177.7 MB/s
TX          0 bytes :    0.0 MB/s
CPU Usage Stats (avg/min/max): 31.85%,30.31%,32.77%
";
    let read = report(Dialect::Mcperf, text).unwrap();
    assert_eq!((read.rows[0][14], read.counts.connections), (2210.7, Some(8)));
    assert_eq!(read.cpu.unwrap().percent, [31.85, 30.31, 32.77]);
}

#[test]
fn scans() {
    let text = "\
#type       avg     min     1st     5th    10th    90th    95th    99th      QPS   target
read       76.3    46.3    21.1    23.5    24.5    94.3   138.7   256.6   1002.0     1000
";
    assert_eq!(scan(Dialect::Mutilate, text).unwrap().rows[0].target_per_s, 1000);
    let text = "\
#type       avg     std     min      p5     p10     p50     p67     p75     p80     p85     \
p90     p95     p99    p999   p9999     QPS   target
read      151.2   124.9    59.1    90.8    99.7   147.2   161.4   169.9   175.8   183.2   193.3   \
210.9   258.6   978.4  7757.9   5059.2     5000
Warning! Detected max cpu usage > 95%
CPU Usage Stats (avg/min/max): 80.50%,41.50%,100.00%
";
    let read = scan(Dialect::Mcperf, text).unwrap();
    assert_eq!((read.rows[0].rate_per_s, read.cpu.unwrap().warned), (5059.2, true));
    let text = "\
#type       avg     std     min      p5     p10     p50     p67     p75     p80     p85     \
p90     p95     p99    p999   p9999      QPS   target       ts_start         ts_end
read      378.9  1371.9    68.9   128.4   142.8   228.1   273.8   301.0   321.3   347.0   382.9   \
450.1  4656.6 22055.6 31372.0  29911.2    30000  1679675485053  1679675505223
";
    let rows = scan(Dialect::McperfDynamic, text).unwrap().rows;
    assert_eq!(rows[0].timestamps, Some((1_679_675_485_053, 1_679_675_505_223)));
}

#[test]
fn a_waveform() {
    let text = "\
Random waveform, supplied seed
Total number of intervals = 2 (5031, 54838)
Average QPS expected = 29934
Timestamp start: 1621795001868
Timestamp end: 1621796502248

#type       avg     std     min      p5     p10     p50     p67     p75     p80     p85     \
p90     p95     p99    p999   p9999      QPS   target
read      324.0   749.8    80.4   142.3   177.2   267.2   308.5   334.0   353.9   378.4   407.8   \
460.2   786.6  8279.1 32516.0   5020.5     5031
read      431.9   623.0    68.9   112.9   134.2   324.9   412.2   465.4   509.6   574.0   673.9  \
1188.2  2222.5  6857.1 29062.7  54906.8    54838

Total QPS = 49638.9 (74458344 / 1500.0s)

Total connections = 64
Misses = 0 (0.0%)
Skipped TXs = 0 (0.0%)

RX 18391211215 bytes :   11.7 MB/s
TX          0 bytes :    0.0 MB/s
Warning! Detected max cpu usage > 95%
CPU Usage Stats (avg/min/max): 99.95%,49.24%,100.00%
";
    let read = waveform(text).unwrap();
    assert_eq!((read.rows.len(), read.targets_per_s), (2, vec![5031, 54_838]));
}

#[test]
fn searches() {
    let text = "\
mutilate.cc(489): Search-mode.  Find QPS @ 1000us 95th percentile.
mutilate.cc(503): peak qps = 71164, nth = 1210.4
mutilate.cc(521): cur_qps = 35582, get_qps = 35570.812345, nth = 312.402311
";
    let steps = progress(Dialect::Mutilate, text).unwrap();
    assert_eq!(steps[1], Progress::Peak { rate_per_s: 71_164, measured_us: 1210.4 });
    let text = "\
mcperf.cc(780): Search-mode.  Find QPS @ 1000us 95th percentile.
mcperf.cc(796): peak qps =    82311, 95 = 1532.7
mcperf.cc(816): . target =    41156, 95 = 312.4, high_qps = 82311, low_qps = 1, qps = 41102
";
    let steps = progress(Dialect::Mcperf, text).unwrap();
    assert_eq!(
        steps[2],
        Progress::Trial {
            target_per_s: 41_156,
            rate_per_s: 41_102.0,
            measured_us: 312.4,
            bounds: Some((1, 82_311)),
        }
    );
}
