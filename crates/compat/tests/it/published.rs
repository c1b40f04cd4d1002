//! The parser against output of the original programs, from their pages and public logs: a parser
//! that accepted only our own text would prove nothing.

use crate::parser::{Dialect, Progress, progress, report, scan, waveform};

#[test]
fn a_report_of_mutilate() {
    let text = include_str!("printed/mutilate.txt");
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
    let text = include_str!("printed/mutilate-2012.txt");
    let read = report(Dialect::Mutilate2012, text).unwrap();
    assert_eq!((read.rows[0][7], read.counts.skipped), (1170.6, None));
}

#[test]
fn a_report_of_mcperf() {
    let text = include_str!("printed/mcperf.txt");
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
    let text = include_str!("printed/scan.txt");
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
    let text = include_str!("printed/waveform.txt");
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
