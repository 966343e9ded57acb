//! The sentences of the tools for media.

use super::ToolSentence;

pub(super) const SENTENCES: &[ToolSentence] = &[
    ToolSentence {
        tool: "image_generate",
        english: "Make a picture, or change one.",
        chinese: "生成或修改图片。",
        german: "Ein Bild erzeugen oder verändern.",
        spanish: "Crear o modificar una imagen.",
    },
    ToolSentence {
        tool: "model3d_generate",
        english: "Make a 3D model.",
        chinese: "生成三维模型。",
        german: "Ein 3D-Modell erzeugen.",
        spanish: "Crear un modelo 3D.",
    },
    ToolSentence {
        tool: "music_generate",
        english: "Make a piece of music.",
        chinese: "生成音乐。",
        german: "Ein Musikstück erzeugen.",
        spanish: "Crear una pieza musical.",
    },
    ToolSentence {
        tool: "speech_to_text",
        english: "Transcribe the recording {path}.",
        chinese: "转写录音 {path}。",
        german: "Die Aufnahme {path} verschriftlichen.",
        spanish: "Transcribir la grabación {path}.",
    },
    ToolSentence {
        tool: "text_to_speech",
        english: "Speak a text as a voice note or an audio file.",
        chinese: "将文本朗读为语音消息或音频文件。",
        german: "Einen Text als Sprachnachricht oder Audiodatei sprechen.",
        spanish: "Leer un texto en voz alta como nota de voz o archivo de audio.",
    },
    ToolSentence {
        tool: "video_generate",
        english: "Make a video.",
        chinese: "生成视频。",
        german: "Ein Video erzeugen.",
        spanish: "Crear un vídeo.",
    },
];
