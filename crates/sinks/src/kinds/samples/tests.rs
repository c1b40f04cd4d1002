//! Rows as they must be in the file, and a writer that fails.

use super::*;
use memtide_base::Instant;
use memtide_record::SampleOutcome;
use memtide_scenario::Kind;

fn sample() -> Sample {
    Sample {
        begun: Instant::from_ns(100),
        index: 7,
        key: b"k17".to_vec(),
        size: None,
        intended: Instant::from_ns(1_000),
        sent: Some(Instant::from_ns(1_250)),
        received: Some(Instant::from_ns(91_250)),
        kind: Kind::Get,
        outcome: SampleOutcome::Hit,
        bytes: 275,
        connection: Some(3),
    }
}

#[test]
fn rows_have_an_empty_cell_where_there_is_no_instant() {
    let mut written = Vec::new();
    let mut csv = SampleCsv::new(&mut written);
    csv.write(&sample()).unwrap();
    let timed_out = SampleOutcome::TimedOut;
    csv.write(&Sample { received: None, outcome: timed_out, ..sample() }).unwrap();
    let never_sent = Sample {
        sent: None,
        received: None,
        kind: Kind::Set,
        outcome: SampleOutcome::Dropped,
        bytes: 0,
        connection: None,
        key: b"k,\"1".to_vec(),
        size: Some(100),
        ..sample()
    };
    csv.write(&never_sent).unwrap();
    csv.flush().unwrap();
    drop(csv);
    let text = String::from_utf8(written).unwrap();
    assert_eq!(
        text,
        "intended_ns,sent_ns,received_ns,op,outcome,bytes,connection,index,key,size\n\
         900,1150,91150,get,hit,275,3,7,k17,\n\
         900,1150,,get,timed_out,275,3,7,k17,\n\
         900,,,set,dropped,0,,7,\"k,\"\"1\",100\n"
    );
}

#[test]
fn nothing_is_written_before_the_first_row_and_a_header_at_the_end_at_least() {
    let mut written = Vec::new();
    drop(SampleCsv::new(&mut written));
    assert!(written.is_empty());
    SampleCsv::new(&mut written).flush().unwrap();
    let names = "intended_ns,sent_ns,received_ns,op,outcome,bytes,connection,index,key,size\n";
    assert_eq!(String::from_utf8(written).unwrap(), names);
}

/// A writer with room for this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        match taken {
            0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_latest_when_the_file_is_finished() {
    let mut csv = SampleCsv::new(Full(100));
    (0..10).for_each(|_| csv.write(&sample()).unwrap());
    let error = csv.flush().err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
