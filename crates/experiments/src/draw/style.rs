//! Colours and letters that pictures share.

use plotters::prelude::*;

/// Of texts.
pub const INK: RGBColor = RGBColor(0x22, 0x26, 0x2b);
/// Of axes and small print.
pub const FAINT: RGBColor = RGBColor(0x6d, 0x72, 0x78);
/// Where flows sit alone.
pub const LIGHT: RGBColor = RGBColor(0xb4, 0xb9, 0xbf);
/// Of grids.
pub const GRID: RGBColor = RGBColor(0xe3, 0xe6, 0xea);
/// Of warnings.
pub const WARNING: RGBColor = RGBColor(0xa0, 0x18, 0x28);

/// The report's colours for disciplines, and one more.
pub const COLORS: [RGBColor; 9] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x84, 0x5f),
    RGBColor(0xb3, 0x53, 0x90),
    RGBColor(0x3c, 0x3f, 0x44),
    RGBColor(0x8a, 0x6d, 0x00),
    RGBColor(0x5b, 0x4b, 0xc4),
    RGBColor(0xa0, 0x18, 0x28),
    RGBColor(0x1f, 0xa3, 0xb5),
];

/// Letters of a size (pixels).
pub fn font(size: u32, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&color)
}

/// Of drawing.
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Where is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The colour of the i-th series.
pub fn color(i: usize) -> RGBColor {
    COLORS[i % COLORS.len()]
}
