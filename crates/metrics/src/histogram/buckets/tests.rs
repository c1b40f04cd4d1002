//! Buckets are those of the HdrHistogram library, and so are their bytes.

use super::*;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use memtide_base::Random;
use std::io::Write;

#[test]
fn every_bucket_is_the_librarys() {
    let library = library();
    let mut random = Random::new(0xB0C4);
    let edges = (0..BUCKETS).flat_map(|index| {
        let (smallest, width) = range(index);
        [smallest, smallest + width / 2, smallest + width - 1]
    });
    let drawn = (0..100_000).map(|_| random.bits() >> (22 + random.bits() % 40));
    for value in edges.chain(drawn).filter(|&value| value <= VALUE_MAX) {
        let (smallest, width) = range(index(value));
        assert_eq!(smallest, library.lowest_equivalent(value), "of {value}");
        assert_eq!(width, library.equivalent_range(value), "of {value}");
        assert_eq!(smallest + width / 2, library.median_equivalent(value), "of {value}");
    }
    assert_eq!(index(VALUE_MAX) + 1, BUCKETS);
}

#[test]
fn bytes_are_what_the_library_makes_of_the_same_values() {
    let (mut ours, mut theirs) = (Buckets::<u64>::new(), library());
    let mut random = Random::new(0xB0C5);
    for _ in 0..10_000 {
        let value = random.bits() >> (22 + random.bits() % 40);
        match value > VALUE_MAX {
            true => ours.record_many(value, 1),
            false => ours.record(value),
        }
        theirs.saturating_record(value.min(VALUE_MAX));
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&theirs, &mut bytes).unwrap();
    assert!(ours.to_bytes() == bytes, "the same counts make other bytes");
    let back = Buckets::from_bytes(&bytes).unwrap();
    assert!(back.recorded().eq(ours.recorded()));
}

#[test]
fn a_few_bytes_do_not_take_memory_for_many() {
    let mut bytes = Buckets::<u64>::new().to_bytes();
    let mut inner = Vec::new();
    ZlibDecoder::new(&bytes[OUTER_BYTES..]).read_to_end(&mut inner).unwrap();
    inner[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&inner).unwrap();
    bytes.truncate(OUTER_BYTES);
    bytes.extend(packed.finish().unwrap());
    assert!(Buckets::from_bytes(&bytes).is_none());
}
