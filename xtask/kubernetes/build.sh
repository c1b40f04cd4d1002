#!/bin/sh
# Builds all programs of a cluster as the one file `cluster` in the folder DIR, from Kubernetes' published modules,
# and deletes the modules and the compiler's cache.
# usage: build.sh DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/build"
cp "$here/main.go" "$here/go.mod" "$1/build"
cd "$1/build"
unset GOFLAGS
export CGO_ENABLED=0 GOMODCACHE="$PWD/modules" GOCACHE="$PWD/cache"
version=k8s.io/component-base/version.git # of the modules in go.mod
go build -mod=mod -trimpath -o cluster \
    -ldflags "-s -w -X ${version}Version=v1.34.4 -X ${version}Major=1 -X ${version}Minor=34" .
go clean -cache -modcache
mv cluster ..
cd ..
rm -r build
