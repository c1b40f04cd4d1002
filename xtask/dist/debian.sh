#!/bin/sh
# Packs the Debian package by dpkg-deb: program, manual, completions and the unit of an agent. It has no
# maintainer scripts, so nothing is started, enabled or left behind. Prints the path of the package.
# usage: debian.sh ROOT FOLDER PROGRAM: the workspace, the folder of the package, and a static memtide.
set -eu
root=$1 folder=$2 program=$3
umask 022
tree=$folder/debian
rm -rf "$tree"
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/man/man1" "$tree/usr/share/doc/memtide" \
    "$tree/usr/share/bash-completion/completions" "$tree/usr/share/zsh/vendor-completions" \
    "$tree/usr/share/fish/vendor_completions.d" "$tree/usr/lib/systemd/system"
install -m 755 "$program" "$tree/usr/bin/memtide"
"$program" man >"$tree/usr/share/man/man1/memtide.1"
"$program" completions bash >"$tree/usr/share/bash-completion/completions/memtide"
"$program" completions zsh >"$tree/usr/share/zsh/vendor-completions/_memtide"
"$program" completions fish >"$tree/usr/share/fish/vendor_completions.d/memtide.fish"
documents=$tree/usr/share/doc/memtide
{ cat "$root/LICENSE-MIT"; echo; cat "$root/LICENSE-APACHE"; } >"$documents/copyright"
install -m 644 "$root/CHANGELOG.md" "$documents/changelog"
install -m 644 "$root/deploy/debian/memtide-agent.service" "$tree/usr/lib/systemd/system/"
gzip --best --no-name "$tree/usr/share/man/man1/memtide.1" "$documents/changelog"
version=$("$program" --version)
version=${version##* }
cat >"$tree/DEBIAN/control" <<CONTROL
Package: memtide
Version: $version
Architecture: amd64
Maintainer: The memtide developers <memtide@localhost>
Section: net
Priority: optional
Description: load generator for memcached
 memtide makes load for memcached, measures response times from the instant at
 which each operation was due, and says how far its numbers can be believed.
CONTROL
file=$folder/memtide_${version}_amd64.deb
dpkg-deb --root-owner-group -Zxz --build "$tree" "$file" >&2
echo "$file"
