//! Functions that find cells in a range, and sums over several ranges.

use std::ops::RangeInclusive;

use super::criteria::{Condition, is_like};
use super::evaluate::{Grid, RESULT_BYTES, Stop, corners};
use super::expr::{Cell, Expr, Op};
use super::functions::{fold, is_columns};
use super::value::{Value, binary, compare, finite};

/// The values of a range, row by row.
pub struct LookupMatrix {
    values: Vec<Value>,
    width: usize,
}

impl LookupMatrix {
    fn height(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    fn at(&self, row: usize, column: usize) -> Option<&Value> {
        if column < self.width { self.values.get(row * self.width + column) } else { None }
    }

    fn is_single(&self) -> bool {
        self.values.len() == 1
    }

    /// The value for a cell of an operation with another matrix; a single value fits all.
    fn for_cell(&self, at: usize) -> Value {
        let at = if self.is_single() { 0 } else { at };
        self.values.get(at).cloned().unwrap_or(Value::Error("#N/A"))
    }
}

/// The number of rows of a sheet.
const SHEET_ROWS: usize = 1 << 20;

const MISSING: Value = Value::Error("#N/A");

/// The value of a function of this module; `None` if it is another one.
pub fn call(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Option<Value>, Stop> {
    Ok(Some(match name {
        "VLOOKUP" => lookup(grid, arguments, Direction::Down)?,
        "HLOOKUP" => lookup(grid, arguments, Direction::Right)?,
        "XLOOKUP" => xlookup(grid, arguments)?,
        "MATCH" => match_position(grid, arguments)?,
        "INDEX" => index(grid, arguments)?,
        "SUMPRODUCT" => sum_product(grid, arguments)?,
        "SUMIFS" | "AVERAGEIFS" | "COUNTIFS" | "MAXIFS" | "MINIFS" => {
            several(grid, name, arguments)?
        }
        "LARGE" | "SMALL" => nth(grid, name, arguments)?,
        _ => return Ok(None),
    }))
}

/// The direction in which keys are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Right,
}

/// `VLOOKUP(key, range, column, [approximate])` and `HLOOKUP`.
fn lookup(grid: &mut Grid, arguments: &[Expr], direction: Direction) -> Result<Value, Stop> {
    let key = grid.value(&arguments[0])?;
    let range = grid.matrix(&arguments[1])?;
    let number = grid.value(&arguments[2])?;
    let approximate = match arguments.get(3) {
        Some(argument) => grid.value(argument)?.truth(),
        None => Ok(true),
    };
    let (approximate, number) = match (approximate, number.number()) {
        (Ok(approximate), Ok(number)) if number >= 1.0 => (approximate, number as usize - 1),
        (Err(error), _) | (_, Err(error)) => return Ok(error),
        _ => return Ok(Value::Error("#VALUE!")),
    };
    let is_down = direction == Direction::Down;
    let count = if is_down { range.height() } else { range.width };
    let keys: Vec<&Value> = (0..count)
        .filter_map(|at| if is_down { range.at(at, 0) } else { range.at(0, at) })
        .collect();
    let Some(found) = position(&key, &keys, i32::from(approximate)) else {
        return Ok(MISSING);
    };
    let cell = if is_down { range.at(found, number) } else { range.at(number, found) };
    Ok(cell.cloned().unwrap_or(Value::Error("#REF!")))
}

/// The position of a key: the equal one for 0, where texts may have wildcards; the last that is not
/// greater for 1, in ascending order; the last that is not less for -1, in descending order.
fn position(key: &Value, keys: &[&Value], order: i32) -> Option<usize> {
    let is = |value: &Value, op| compare(value, op, key) == Ok(Value::Bool(true));
    let is_same_kind = |value: &Value| std::mem::discriminant(value) == std::mem::discriminant(key);
    let mut candidates = keys.iter().enumerate().filter(|(_, value)| is_same_kind(value));
    match order {
        0 => candidates
            .find(|(_, value)| match (value, key) {
                (Value::Text(text), Value::Text(pattern)) => is_like(text, pattern),
                _ => is(value, Op::Equal),
            })
            .map(|(at, _)| at),
        order => {
            let op = if order > 0 { Op::LessOrEqual } else { Op::GreaterOrEqual };
            candidates.take_while(|(_, value)| is(value, op)).last().map(|(at, _)| at)
        }
    }
}

/// `XLOOKUP(key, keys, values, [otherwise], [match], [direction])`. The match is 0 for an equal key,
/// -1 or 1 for the next smaller or greater one if there is none, 2 for wildcards; the direction is
/// negative for the last of several.
fn xlookup(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let key = grid.value(&arguments[0])?;
    let (keys, values) = (grid.values(&arguments[1])?, grid.values(&arguments[2])?);
    let mut number = |at: usize, usual: f64| match Expr::given(arguments, at) {
        Some(argument) => Ok(grid.value(argument)?.number()),
        None => Ok(Ok(usual)),
    };
    let (kind, direction) = match (number(4, 0.0)?, number(5, 1.0)?) {
        (Ok(kind), Ok(direction)) => (kind.clamp(-9.0, 9.0) as i32, direction),
        (Err(error), _) | (_, Err(error)) => return Ok(error),
    };
    let is = |value: &Value, op: Op, other: &Value| {
        let is_same_kind = std::mem::discriminant(value) == std::mem::discriminant(other);
        is_same_kind && compare(value, op, other) == Ok(Value::Bool(true))
    };
    let is_key = |value: &Value| match (value, &key) {
        (Value::Text(text), Value::Text(pattern)) if kind == 2 => is_like(text, pattern),
        _ => is(value, Op::Equal, &key),
    };
    let (beyond, nearer) = match kind {
        0 | 2 => (None, Op::Equal),
        -1 => (Some(Op::Less), Op::Greater),
        1 => (Some(Op::Greater), Op::Less),
        _ => return Ok(Value::Error("#VALUE!")),
    };
    let mut order: Vec<usize> = (0..keys.len()).collect();
    if direction < 0.0 {
        order.reverse();
    }
    let equal = order.iter().copied().find(|at| is_key(&keys[*at]));
    let nearest = |op: Op| {
        let candidates = order.iter().copied().filter(|at| is(&keys[*at], op, &key));
        candidates.reduce(|best, at| if is(&keys[at], nearer, &keys[best]) { at } else { best })
    };
    let otherwise = Expr::given(arguments, 3);
    match (equal.or_else(|| beyond.and_then(nearest)), otherwise) {
        (Some(at), _) => Ok(values.get(at).cloned().unwrap_or(Value::Error("#VALUE!"))),
        (None, Some(otherwise)) => grid.value(otherwise),
        (None, None) => Ok(MISSING),
    }
}

/// `MATCH(key, range, [order])`
fn match_position(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let key = grid.value(&arguments[0])?;
    let keys = grid.values(&arguments[1])?;
    let order = match arguments.get(2) {
        Some(argument) => grid.value(argument)?.number(),
        None => Ok(1.0),
    };
    let order = match order {
        Ok(order) => order.clamp(-1.0, 1.0) as i32,
        Err(error) => return Ok(error),
    };
    let keys: Vec<&Value> = keys.iter().collect();
    let found = position(&key, &keys, order);
    Ok(found.map_or(MISSING, |at| Value::Number(at as f64 + 1.0)))
}

/// The range of an `INDEX` whose row or column is zero, which stands for all of them.
pub fn index_range(grid: &mut Grid, arguments: &[Expr]) -> Result<Option<Expr>, Stop> {
    let (sheet, range) = match &arguments[0] {
        Expr::Elsewhere(sheet, range) => (Some(sheet), &**range),
        range => (None, range),
    };
    let (Expr::Range(from, to) | Expr::Columns(from, to)) = range else { return Ok(None) };
    let row = grid.value(&arguments[1])?.number().unwrap_or(-1.0).trunc();
    let column = match arguments.get(2) {
        Some(column) => grid.value(column)?.number().unwrap_or(-1.0).trunc(),
        None => 0.0,
    };
    let has_zero = row == 0.0 || (column == 0.0 && arguments.len() > 2);
    let (rows, columns) = corners(*from, *to);
    let has_all_rows = matches!(range, Expr::Columns(..));
    let rows = if has_all_rows { 0..=SHEET_ROWS as u32 - 1 } else { rows };
    let rows = part(*rows.start(), *rows.end(), row);
    let columns = part(u32::from(*columns.start()), u32::from(*columns.end()), column);
    let (Some(rows), Some(columns), true) = (rows, columns, has_zero) else { return Ok(None) };
    let cell = |row, column| Cell { row, column: column as u16, ..*from };
    let (first, last) = (cell(*rows.start(), *columns.start()), cell(*rows.end(), *columns.end()));
    let range = if has_all_rows && row == 0.0 {
        Expr::Columns(first, last)
    } else {
        Expr::Range(first, last)
    };
    Ok(Some(match sheet {
        Some(sheet) => Expr::Elsewhere(sheet.clone(), Box::new(range)),
        None => range,
    }))
}

/// The part of a range with this number; all of it for zero.
fn part(first: u32, last: u32, number: f64) -> Option<RangeInclusive<u32>> {
    let at = first + number.clamp(0.0, f64::from(u32::MAX / 2)) as u32;
    match number {
        0.0 => Some(first..=last),
        1.0.. if at <= last + 1 => Some(at - 1..=at - 1),
        _ => None,
    }
}

/// `INDEX(range, row, [column])`
fn index(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    if let Some(range) = index_range(grid, arguments)? {
        let mut values = grid.values(&range)?;
        return Ok(if values.len() == 1 { values.remove(0) } else { Value::Error("#VALUE!") });
    }
    let range = grid.matrix(&arguments[0])?;
    let mut numbers = Vec::new();
    for argument in &arguments[1..] {
        match grid.value(argument)?.number() {
            Ok(number) if number >= 1.0 => numbers.push(number as usize - 1),
            Ok(number) if number >= 0.0 => return Ok(Value::Error("#REF!")),
            Ok(_) => return Ok(Value::Error("#VALUE!")),
            Err(error) => return Ok(error),
        }
    }
    let (row, column) = match numbers[..] {
        // In a single row the only number is that of the column.
        [column] if range.height() == 1 => (0, column),
        [row] if range.width == 1 => (row, 0),
        [row, column, ..] => (row, column),
        [_] | [] => return Ok(Value::Error("#VALUE!")),
    };
    // The rows below the table are blank.
    let is_below = is_columns(&arguments[0]) && column < range.width && row < SHEET_ROWS;
    let outside = if is_below { Value::Blank } else { Value::Error("#REF!") };
    Ok(range.at(row, column).cloned().unwrap_or(outside))
}

/// The sum of the products of cells at the same position.
fn sum_product(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let mut factors = Vec::new();
    for argument in arguments {
        factors.push(grid.matrix(argument)?);
    }
    let count = factors.iter().map(|factor| factor.values.len()).max().unwrap_or(0);
    let has_other = |factor: &LookupMatrix| !factor.is_single() && factor.values.len() != count;
    if factors.iter().any(has_other) {
        return Ok(Value::Error("#VALUE!"));
    }
    let mut sum = 0.0;
    let mut last = 0.0;
    for at in 0..count {
        let mut product = 1.0;
        for factor in &factors {
            product *= match factor.for_cell(at) {
                Value::Number(number) => number,
                Value::Error(error) => return Ok(Value::Error(error)),
                // Text and booleans count as zero.
                _ => 0.0,
            };
        }
        sum += product;
        last = product;
    }
    // Whole columns end with a row that is blank, as are all rows below it.
    if last != 0.0 && arguments.iter().any(Expr::has_columns) {
        return Err(Stop);
    }
    Ok(finite(sum))
}

/// `SUMIFS(sums, range, condition, …)`; `COUNTIFS` has no range of its own.
fn several(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
    let (summed, pairs) = if name == "COUNTIFS" {
        (grid.values(&arguments[0])?, arguments)
    } else {
        (grid.values(&arguments[0])?, &arguments[1..])
    };
    let mut is_hit = vec![true; summed.len()];
    // Whether the rows below the table count, if the ranges are whole columns.
    let mut is_below_hit = name == "COUNTIFS" && is_columns(&arguments[0]);
    for pair in pairs.chunks(2) {
        let [tested, wanted] = pair else { return Ok(Value::Error("#VALUE!")) };
        let tested = grid.values(tested)?;
        let condition = Condition::of(&grid.value(wanted)?);
        if tested.len() != is_hit.len() {
            return Ok(Value::Error("#VALUE!"));
        }
        for (hit, value) in is_hit.iter_mut().zip(&tested) {
            *hit &= condition.is_met(value);
        }
        is_below_hit &= condition.is_met(&Value::Blank);
    }
    if is_below_hit {
        return Err(Stop);
    }
    let hits = summed.iter().zip(&is_hit).filter(|(_, hit)| **hit).map(|(value, _)| value);
    if name == "COUNTIFS" {
        return Ok(Value::Number(hits.count() as f64));
    }
    let mut numbers: Vec<f64> = hits
        .filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
        .collect();
    Ok(fold(name.trim_end_matches("IFS"), &mut numbers, 0))
}

/// The n-th largest or smallest number.
fn nth(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
    let values = grid.values(&arguments[0])?;
    let number = match grid.value(&arguments[1])?.number() {
        Ok(number) => number,
        Err(error) => return Ok(error),
    };
    let mut numbers: Vec<f64> = values
        .iter()
        .filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
        .collect();
    numbers.sort_by(f64::total_cmp);
    if name == "LARGE" {
        numbers.reverse();
    }
    let at = if number >= 1.0 { number as usize - 1 } else { usize::MAX };
    Ok(numbers.get(at).map_or(Value::Error("#NUM!"), |number| Value::Number(*number)))
}

impl Grid {
    /// The values of an expression over whole ranges: operations are applied cell by cell.
    pub(super) fn matrix(&mut self, expr: &Expr) -> Result<LookupMatrix, Stop> {
        let width = Self::width(expr);
        let single = |value| LookupMatrix { values: vec![value], width: 1 };
        match expr {
            Expr::Group(inner) => self.matrix(inner),
            Expr::Negate(inner) => {
                let zero = LookupMatrix { values: vec![Value::Number(0.0)], width: 1 };
                let inner = self.matrix(inner)?;
                combined(&zero, Op::Subtract, &inner)
            }
            Expr::Binary(left, op, right) => {
                let (left, right) = (self.matrix(left)?, self.matrix(right)?);
                combined(&left, *op, &right)
            }
            Expr::Call("INDEX", arguments) => match index_range(self, arguments)? {
                Some(range) => self.matrix(&range),
                None => Ok(single(self.value(expr)?)),
            },
            expr => match width {
                Some(width) => Ok(LookupMatrix { values: self.values(expr)?, width }),
                None => Ok(single(self.value(expr)?)),
            },
        }
    }
}

fn combined(left: &LookupMatrix, op: Op, right: &LookupMatrix) -> Result<LookupMatrix, Stop> {
    let count = left.values.len().max(right.values.len());
    let width = left.width.max(right.width);
    let (mut values, mut bytes) = (Vec::with_capacity(count), 0);
    for at in 0..count {
        let value = binary(&left.for_cell(at), op, &right.for_cell(at));
        if let Value::Text(text) = &value {
            bytes += text.len();
        }
        if bytes > RESULT_BYTES {
            return Err(Stop);
        }
        values.push(value);
    }
    Ok(LookupMatrix { values, width })
}
