//! Transformations of the positions on a PDF page.

use lopdf::Object;

/// `[a b c d e f]`: a transformation matrix.
pub type Matrix = [f32; 6];

pub const SAME: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// Combines two transformations: first `inner`, then `outer`.
pub fn within(inner: Matrix, outer: Matrix) -> Matrix {
    let across = |x: f32, y: f32| x * outer[0] + y * outer[2];
    let up = |x: f32, y: f32| x * outer[1] + y * outer[3];
    [
        across(inner[0], inner[1]),
        up(inner[0], inner[1]),
        across(inner[2], inner[3]),
        up(inner[2], inner[3]),
        across(inner[4], inner[5]) + outer[4],
        up(inner[4], inner[5]) + outer[5],
    ]
}

pub fn number(operands: &[Object], at: usize) -> f32 {
    operands.get(at).and_then(|operand| operand.as_float().ok()).unwrap_or(0.0)
}

pub fn matrix(numbers: &[Object]) -> Matrix {
    if numbers.len() < 6 { SAME } else { std::array::from_fn(|at| number(numbers, at)) }
}
