//! Certificates for tests: a CA, and what it signs, in files that any user may read.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A CA with its folder, which goes with it.
pub(super) struct Ca {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("memtide-tls-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, format!("CA {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let ca = Self { folder, issuer: Issuer::new(params, key) };
        ca.write("ca.pem", &certificate.pem());
        ca
    }

    /// Runs openssl in its folder; the files that it makes can be read by a memcached.
    pub(super) fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        let command = command.args(arguments.split_whitespace()).current_dir(&self.folder);
        let made = command.output().expect("openssl is installed");
        assert!(made.status.success(), "openssl {arguments}: {made:?}");
        for file in fs::read_dir(&self.folder).unwrap() {
            fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o644)).unwrap();
        }
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        // A memcached runs as another user.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// The path of one of its files.
    pub(super) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The path of its own certificate.
    pub(super) fn own(&self) -> String {
        self.path("ca.pem")
    }

    /// Signs a certificate for `name`, valid in these years; returns the paths of it and its key.
    pub(super) fn sign(&self, name: &str, (from, until): (i32, i32)) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (cert_file, key_file) = (format!("{name}-{from}.pem"), format!("{name}-{from}.key"));
        self.write(&cert_file, &certificate.pem());
        self.write(&key_file, &key.serialize_pem());
        (self.path(&cert_file), self.path(&key_file))
    }
}

impl Drop for Ca {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}
