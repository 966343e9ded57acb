//! Servers that reject, stall, disconnect or do not exist.

use super::*;

#[tokio::test]
async fn an_overload_is_retried_when_the_provider_says() {
    for provider in ALL {
        let busy = refused(provider, llm::busy("7")).await;
        assert!(
            matches!(&busy, ModelError::Retry { after: Some(a), .. } if a.as_secs() == 7),
            "{busy}"
        );
        for code in [500, 502, 503, 529, 408] {
            let down = refused(provider, llm::refuse(code, "api_error", "Down.")).await;
            assert!(matches!(down, ModelError::Retry { after: None, .. }), "{code}: {down}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_never_taken_as_whole() {
    for provider in ALL {
        let turn = || llm::text("Delete the file a.txt, but only after you have asked Ann.");
        // The response is cut before the stop reason.
        let after = match provider {
            Provider::OpenAi => 4,
            Provider::Anthropic => 8,
            Provider::Gemini | Provider::Ollama => 2,
        };
        for fault in [
            Fault::Cut { turn: turn(), after: 5 },
            Fault::Short { turn: turn(), after: 5 },
            Fault::Short { turn: llm::text("Now.").call("call_aaaaaa", "list_dir", "{}"), after },
            Fault::Short { turn: turn(), after: 0 },
        ] {
            let told = format!("{provider:?} {fault:?}");
            let cut = refused(provider, fault).await;
            assert!(matches!(cut, ModelError::Retry { .. }), "{told}: {cut}");
        }
        for (kind, is_overloaded) in [("overloaded_error", true), ("api_error", false)] {
            let fault = Fault::Event { turn: turn(), after: 4, kind };
            let problem = refused(provider, fault).await;
            // Ollama's errors have no type.
            if is_overloaded && provider != Provider::Ollama {
                assert!(matches!(problem, ModelError::Retry { .. }), "{provider:?}: {problem}");
            } else {
                assert!(matches!(problem, ModelError::Failed(_)), "{provider:?}: {problem}");
            }
        }
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_recognised() {
    for provider in ALL {
        for (code, kind, message) in [
            (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
            (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        ] {
            let long = refused(provider, llm::refuse(code, kind, message)).await;
            assert!(matches!(long, ModelError::TooLong(_)), "{long}");
        }
        let message = "Request exceeds the maximum size";
        let large = refused(provider, llm::refuse(413, "request_too_large", message)).await;
        assert!(matches!(large, ModelError::TooLarge(_)), "{large}");
        let message = "The response was filtered";
        let filtered = refused(provider, llm::refuse(400, "content_filter", message)).await;
        if provider == Provider::Ollama {
            assert!(matches!(filtered, ModelError::Rejected(_)), "{filtered}");
        } else {
            assert!(matches!(filtered, ModelError::Filtered(_)), "{filtered}");
        }
    }
}

#[tokio::test]
async fn an_overload_is_retried_when_the_body_of_the_error_says() {
    let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
    let details = json!([
        { "@type": kind("QuotaFailure"), "violations": [] },
        { "@type": kind("RetryInfo"), "retryDelay": "34.5s" },
    ]);
    let error = json!({ "error": { "code": 429, "message": "Slow down.", "details": details } });
    for body in [error.to_string(), json!([error]).to_string()] {
        for provider in [Provider::Gemini, Provider::OpenAi] {
            let answer = llm::raw_with_status(429, "application/json", body.clone());
            let busy = refused(provider, answer).await;
            let ModelError::Retry { after, .. } = busy else { panic!("{busy}") };
            assert_eq!(after, Some(Duration::from_millis(34_500)), "{body}");
        }
    }
}

/// These are the words of Amazon Bedrock, which gateways pass on.
#[tokio::test]
async fn a_rate_limit_of_tokens_does_not_shorten_the_prompt() {
    let message = "Too many tokens, please wait before trying again.";
    for provider in ALL {
        let limited = refused(provider, llm::refuse(429, "rate_limit_error", message)).await;
        assert!(matches!(limited, ModelError::Retry { .. }), "{limited}");
    }
    let error = json!({ "error": { "type": "rate_limit_error", "message": message } });
    let event = format!("data: {error}\n\n").into_bytes();
    let limited = refused(Provider::OpenAi, llm::raw("text/event-stream", event)).await;
    assert!(matches!(limited, ModelError::Retry { .. }), "{limited}");
}

#[tokio::test]
async fn a_refusal_says_what_to_do_and_never_the_key() {
    let message = format!("Incorrect API key provided: {KEY}.");
    for (code, kind, hint) in [
        (401, "authentication_error", "OPENAI_API_KEY, or `api_key` of the model `main`"),
        (403, "permission_error", "OPENAI_API_KEY"),
        (404, "not_found_error", "does not know `fake-1`"),
        (400, "invalid_request_error", "rejects the key"),
        (422, "invalid_request_error", "It says: Incorrect API key provided: [key]."),
        (429, "insufficient_quota", "no credit left"),
        (307, "moved", "check `base_url`"),
    ] {
        let no = refused(Provider::OpenAi, llm::refuse(code, kind, &message)).await;
        assert!(matches!(&no, ModelError::Rejected(why) if why.contains(hint)), "{code}: {no}");
    }
    let invalid = "API key not valid. Please pass a valid API key.";
    let no = refused(Provider::Gemini, llm::refuse(400, "INVALID_ARGUMENT", invalid)).await;
    assert!(no.to_string().contains("check GEMINI_API_KEY"), "{no}");
    let no = refused(Provider::Anthropic, llm::refuse(401, "authentication_error", &message)).await;
    assert!(no.to_string().contains("ANTHROPIC_API_KEY"), "{no}");
}

#[tokio::test]
async fn a_slow_server_is_waited_for_and_a_silent_one_is_not() {
    let (soon, never) = (Duration::from_millis(60), Duration::from_mins(1));
    for provider in ALL {
        let llm = FakeLlm::start().await;
        let mut config = config(&llm, provider);
        config.timeouts.headers = Duration::from_millis(400);
        config.timeouts.read = Duration::from_millis(400);
        let model = RemoteModel::new(config).expect("a whole configuration");
        let turn = || llm::text("Late.");
        llm.will(Fault::SlowFirstToken { turn: turn(), by: soon });
        assert_eq!(ask(&model, &hello()).await.0.expect("an answer").text, "Late.");
        llm.will(Fault::SlowFirstToken { turn: turn(), by: never });
        let silent = ask(&model, &hello()).await.0.expect_err("no answer");
        assert!(silent.to_string().contains("stopped sending"), "{silent}");
        llm.will(Fault::SlowHeaders { turn: turn(), by: never });
        let slow = ask(&model, &hello()).await.0.expect_err("no answer");
        assert!(slow.to_string().contains("did not start answering"), "{slow}");
        assert!(matches!(slow, ModelError::Retry { .. }));
    }
}

#[tokio::test]
async fn an_answer_that_drips_for_ever_ends() {
    let llm = FakeLlm::start().await;
    llm.will(Fault::SlowFirstToken { turn: llm::text("Late."), by: Duration::from_mins(1) });
    let mut config = config(&llm, Provider::OpenAi);
    config.timeouts.total = Duration::from_millis(200);
    let model = RemoteModel::new(config).expect("a whole configuration");
    let late = ask(&model, &hello()).await.0.expect_err("no answer");
    assert!(
        matches!(&late, ModelError::Retry { reason, .. } if reason.contains("no complete answer"))
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_can_be_tried_again() {
    let llm = FakeLlm::start().await;
    let mut config = config(&llm, Provider::OpenAi);
    config.base_url = Some("http://127.0.0.1:1/v1".parse().expect("a URL"));
    let model = RemoteModel::new(config).expect("a whole configuration");
    let gone = ask(&model, &hello()).await.0.expect_err("no answer");
    assert!(
        matches!(&gone, ModelError::Retry { reason, .. } if reason.contains("cannot be reached"))
    );
}
