//! Canvases for pictures: SVG text, or pixels that become a PNG.
//!
//! It knows no figures. Drawing into memory cannot fail, so no error leaves it.

use epaint_default_fonts::UBUNTU_LIGHT;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use std::sync::Once;

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 540);
/// Font family of every text.
pub(super) const FONT: &str = "sans-serif";

/// Drawing area of a picture.
pub(super) type Area<D> = DrawingArea<D, Shift>;
/// Result of drawing.
pub(super) type Drawn<D> = Result<(), DrawingAreaErrorKind<<D as DrawingBackend>::ErrorType>>;

/// Something that can be drawn.
pub(super) trait Draw {
    /// Draws it over the whole of `area`.
    fn draw<D: DrawingBackend>(&self, area: &Area<D>) -> Drawn<D>;
}

/// The picture as SVG text.
pub(super) fn svg(picture: &impl Draw) -> String {
    let mut text = String::new();
    paint(picture, SVGBackend::with_string(&mut text, SIZE));
    text
}

/// The picture as an encoded PNG, in 8-bit RGB.
pub(super) fn png(picture: &impl Draw) -> Vec<u8> {
    let (width, height) = SIZE;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    paint(picture, BitMapBackend::with_buffer(&mut pixels, SIZE));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut png| {
        png.write_image_data(&pixels)?;
        png.finish()
    });
    written.expect("an image of the announced size is written to memory");
    bytes
}

fn paint<D: DrawingBackend>(picture: &impl Draw, backend: D) {
    static FONT_READY: Once = Once::new();
    FONT_READY.call_once(|| {
        let registered = register_font(FONT, FontStyle::Normal, UBUNTU_LIGHT);
        assert!(registered.is_ok(), "the font that is part of the program can be read");
    });
    let area = backend.into_drawing_area();
    let drawn = area.fill(&WHITE).and_then(|()| picture.draw(&area)).and_then(|()| area.present());
    if let Err(why) = drawn {
        panic!("drawing into memory succeeds, but: {why}");
    }
}
