//! The numbers of the binary protocol.

use super::*;

#[test]
fn every_number_is_its_own_command_or_none() {
    let known = (0..=u8::MAX).filter_map(|byte| {
        let opcode = Opcode::from_byte(byte)?;
        assert_eq!(opcode as u8, byte);
        Some(opcode)
    });
    assert_eq!(known.collect::<Vec<_>>(), Opcode::ALL);
}

#[test]
fn fourteen_commands_are_quiet() {
    assert_eq!(Opcode::ALL.iter().filter(|opcode| opcode.is_quiet()).count(), 14);
    assert!(Opcode::ALL.iter().all(|opcode| !opcode.loud().is_quiet()));
}
