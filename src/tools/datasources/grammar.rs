//! The SQL syntax that a query may use.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Ident, ObjectName, ObjectNamePart, SetExpr};
use std::ops::ControlFlow;

pub(super) type CheckFlow = ControlFlow<String>;

pub(super) fn refuse(why: impl Into<String>) -> CheckFlow {
    ControlFlow::Break(why.into())
}

pub(super) fn require(holds: bool, why: &str) -> CheckFlow {
    if holds { ControlFlow::Continue(()) } else { refuse(why) }
}

/// Whether the expression itself needs no check. Its operands are visited separately.
pub(super) fn is_harmless(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::CompoundFieldAccess { .. }
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. }
            | Expr::SimilarTo { .. }
            | Expr::RLike { .. }
            | Expr::UnaryOp { .. }
            | Expr::AtTimeZone { .. }
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Overlay { .. }
            | Expr::Nested(_)
            | Expr::Value(_)
            | Expr::Case { .. }
            | Expr::Exists { .. }
            | Expr::Subquery(_)
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Interval(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..)
    )
}

pub(super) fn check_body(body: &SetExpr) -> CheckFlow {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => ControlFlow::Continue(()),
        SetExpr::SetOperation { left, right, .. } => {
            check_body(left)?;
            check_body(right)
        }
        _ => refuse("only SELECT, or WITH … SELECT, is run: nothing may write"),
    }
}

pub(super) fn check_operator(op: &BinaryOperator) -> CheckFlow {
    let odd = matches!(
        op,
        BinaryOperator::Custom(_)
            | BinaryOperator::PGCustomBinaryOperator(_)
            | BinaryOperator::Assignment
    );
    require(!odd, "this operator is not supported")
}

/// Accepts only built-in types: a user-defined type may run user-defined code.
pub(super) fn check_type(data_type: &DataType) -> CheckFlow {
    match data_type {
        DataType::Custom(name, modifiers) => {
            let known =
                ["citext", "money", "inet", "cidr", "macaddr", "tsvector", "tsquery", "year"];
            let name = plain_parts(name).unwrap_or_default();
            let [only] = name.as_slice() else { return refuse("this type is not supported") };
            let is_known = known.contains(&only.value.to_lowercase().as_str());
            require(is_known && modifiers.is_empty(), "this type is not supported")
        }
        DataType::Enum(..) | DataType::Set(_) | DataType::Struct(..) | DataType::Union(_) => {
            refuse("this type is not supported")
        }
        _ => ControlFlow::Continue(()),
    }
}

/// The parts of a name, or `None` if one of them is computed.
pub(super) fn plain_parts(name: &ObjectName) -> Option<Vec<Ident>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Some(ident.clone()),
        ObjectNamePart::Function(_) => None,
    };
    name.0.iter().map(part).collect()
}
