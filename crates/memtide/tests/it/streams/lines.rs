//! A test for each family.

use super::expect;

#[test]
fn mutilates_streams() {
    expect("mutilate.txt");
}

#[test]
fn mcperfs_streams() {
    expect("mcperf.txt");
}

#[test]
fn names_folders_and_words_choose_the_mcperf() {
    expect("names.txt");
}

#[test]
fn twemperfs_streams() {
    expect("twemperf.txt");
}

#[test]
fn memaslaps_streams() {
    expect("memaslap.txt");
}
