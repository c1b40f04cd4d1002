//! fuzz targets of the codec and the scenario file.
#![forbid(unsafe_code)]
