//! How the result of a formula is shown: as the cells that it adds and multiplies.

use super::cells::Typed;
use super::formula::{Expr, Op};
use super::pages::{Meaning, Read};

/// The number format of the first money among the cells, else of the most decimals; none where the
/// result may be of another kind than they are.
pub fn of(formula: &Expr, read: &Read) -> Option<String> {
    let mut formats = Vec::new();
    collect(formula, read, &mut formats)?;
    let is_money = |format: &&&str| format.starts_with('"');
    let decimals = |format: &&&str| format.chars().skip_while(|c| *c != '.').count();
    let is_share = |format: &&&str| format.contains('%');
    let money = formats.iter().find(is_money);
    let plain = || formats.iter().filter(|format| !is_share(format)).max_by_key(decimals);
    let format = money.or_else(plain).or(formats.first())?;
    Some((*format).to_owned())
}

fn collect<'r>(formula: &Expr, read: &'r Read, formats: &mut Vec<&'r str>) -> Option<()> {
    match formula {
        Expr::Number(_) => Some(()),
        Expr::Cell(cell) | Expr::Range(cell, _) => {
            let row = (cell.row as usize).checked_sub(1)?;
            let (_, meaning) = read.get(row)?.get(usize::from(cell.column))?;
            match meaning {
                Some(Meaning::Typed(Typed::Number { format, .. })) => formats.push(format),
                None => {}
                _ => return None,
            }
            Some(())
        }
        Expr::Negate(inner) | Expr::Group(inner) => collect(inner, read, formats),
        Expr::Binary(left, Op::Add | Op::Subtract | Op::Multiply, right) => {
            collect(left, read, formats)?;
            collect(right, read, formats)
        }
        Expr::Call("SUM" | "AVERAGE" | "MIN" | "MAX" | "ROUND", arguments) => {
            arguments.iter().try_for_each(|argument| collect(argument, read, formats))
        }
        _ => None,
    }
}
