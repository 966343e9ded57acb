//! A WASM tool that looks up the exchange rate of two currencies. How to build it:
//! `docs/guides/wasm-tools.md`.

use countersign::tool::host::{self, Request};
use serde::Deserialize;

wit_bindgen::generate!({ path: "../../wit", world: "tool" });

struct ExchangeRate;

export!(ExchangeRate);

#[derive(Deserialize)]
struct Arguments {
    from: String,
    to: String,
}

#[derive(Deserialize)]
struct Rates {
    date: String,
    rates: std::collections::BTreeMap<String, f64>,
}

impl Guest for ExchangeRate {
    fn describe() -> Description {
        Description {
            name: "exchange_rate".to_owned(),
            description: "Looks up today's exchange rate of two currencies.".to_owned(),
            parameters: serde_json::json!({
                "type": "object",
                "properties": {
                    "from": { "type": "string", "pattern": "^[A-Z]{3}$", "description": "Such as CHF" },
                    "to": { "type": "string", "pattern": "^[A-Z]{3}$", "description": "Such as EUR" },
                },
                "required": ["from", "to"],
                "additionalProperties": false,
            })
            .to_string(),
            effect: Effect::ReadOnly,
        }
    }

    fn run(arguments: String) -> Result<String, String> {
        // The arguments match the schema.
        let Arguments { from, to } =
            serde_json::from_str(&arguments).map_err(|problem| problem.to_string())?;
        let response = host::send(&Request {
            method: "GET".to_owned(),
            url: format!("https://api.frankfurter.dev/v1/latest?base={from}&symbols={to}"),
            headers: Vec::new(),
            body: None,
        })?;
        if response.status != 200 {
            return Err(format!("The service answered with status {}.", response.status));
        }
        let Rates { date, rates } = serde_json::from_slice(&response.body)
            .map_err(|problem| format!("The service answered something unexpected: {problem}"))?;
        let rate = rates.get(&to).ok_or_else(|| format!("There is no rate for {to}."))?;
        Ok(format!("1 {from} = {rate} {to} ({date})"))
    }
}
