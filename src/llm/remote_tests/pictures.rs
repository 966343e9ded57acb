//! Pictures, for models with and without image support.

use super::*;

fn seeing(llm: &FakeLlm, provider: Provider) -> RemoteModel {
    RemoteModel::new(ModelConfig { vision: true, ..config(llm, provider) }).expect("whole")
}

/// Each provider gets its own format, and the next request begins with the previous one.
/// Proves CA-36.
#[tokio::test]
async fn pictures_go_out_on_every_wire() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("Two.")).will(llm::text("Two again."));
        let model = seeing(&llm, provider);
        let mut prompt = with_pictures();
        ask(&model, &prompt).await.0.expect("an answer");
        prompt.messages.push(Message::Assistant { text: "Two.".into(), calls: vec![] });
        prompt.messages.push(user("sure?"));
        ask(&model, &prompt).await.0.expect("an answer");
        assert_eq!(llm.problems(), Vec::<String>::new(), "{provider:?}");
        let bodies: Vec<_> = llm.requests().into_iter().map(|request| request.body).collect();
        let key = if provider == Provider::Gemini { "contents" } else { "messages" };
        let [first, second] = [0, 1].map(|n| without_marks(&bodies[n][key]));
        assert_eq!(first.to_string().matches(JPEG).count(), 2, "{provider:?}: {first}");
        assert!(first.to_string().contains("[picture: inbox/a.jpg]"), "{first}");
        let (first, second) = (first.as_array().expect("a list"), second.as_array().expect("too"));
        assert_eq!(first[..], second[..first.len()], "{provider:?}: T1");
    }
}

/// The cache marker moves with each request, which changes nothing that is cached.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(all) if all.get("type") == Some(&json!("text")) && all.len() <= 3 => {
            json!({ "type": "text", "text": all["text"] })
        }
        Value::Object(all) => all
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, value)| (key.clone(), without_marks(value)))
            .collect(),
        Value::Array(all) => all.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

/// Models without image support, as a fallback for one with it, and models that reject pictures get
/// the line of text.
#[tokio::test]
async fn a_model_without_vision_gets_a_note_about_pictures() {
    for provider in ALL {
        let llm = FakeLlm::start().await;
        llm.will(llm::text("I see nothing."));
        ask(&model(&llm, provider), &with_pictures()).await.0.expect("an answer");
        llm.will(llm::refuse(400, "invalid_request_error", "no image input here"));
        llm.will(llm::text("Nor do I."));
        let (answer, heard) = ask(&seeing(&llm, provider), &with_pictures()).await;
        assert_eq!(answer.expect("an answer").text, "Nor do I.");
        assert_eq!(heard[0], "", "what was shown begins again");
        let requests = llm.requests();
        assert!(requests[1].body.to_string().contains(JPEG));
        for blind in [&requests[0], &requests[2]] {
            let body = blind.body.to_string();
            assert!(!body.contains(JPEG), "{provider:?}");
            assert!(body.contains("[picture: b.png, which you cannot see]"), "{body}");
        }
    }
}
