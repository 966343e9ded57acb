//! Recordings: their format and duration, from the bytes.

/// A format of recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AudioFormat {
    Ogg,
    Mp3,
    Flac,
    Wav,
    Aac,
    /// MPEG-4, which may also be a video.
    Mp4,
    /// Matroska, which may also be a video.
    Webm,
}

/// A recording. Only its header has been read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recording {
    pub format: AudioFormat,
    /// The duration, if the format says it without decoding.
    pub seconds: Option<f64>,
}

/// The bytes per second at which the duration of other formats is estimated: a low bitrate of
/// speech, so that the estimate is rather too long.
const BYTES_PER_SECOND: f64 = 2_000.0;

impl Recording {
    /// `None` if the bytes are in no supported format. Containers of videos count only if the file
    /// is declared as audio.
    pub fn of(bytes: &[u8], declared: Option<&str>) -> Option<Self> {
        let begins = |magic: &[u8]| bytes.starts_with(magic);
        let declared = declared.unwrap_or_default();
        if declared.starts_with("video/") || declared.starts_with("image/") {
            return None;
        }
        let is_audio = declared.starts_with("audio/");
        let (format, seconds) = if begins(b"OggS") {
            (AudioFormat::Ogg, ogg_seconds(bytes))
        } else if begins(b"fLaC") {
            (AudioFormat::Flac, None)
        } else if begins(b"RIFF") && bytes.get(8..12) == Some(b"WAVE") {
            (AudioFormat::Wav, wav_seconds(bytes))
        } else if begins(b"ID3") {
            (AudioFormat::Mp3, None)
        } else if bytes.first() == Some(&0xff) && bytes.get(1).is_some_and(|b| b & 0xf6 == 0xf0) {
            (AudioFormat::Aac, None)
        } else if bytes.first() == Some(&0xff) && bytes.get(1).is_some_and(|b| b & 0xe0 == 0xe0) {
            (AudioFormat::Mp3, None)
        } else if is_audio && bytes.get(4..8) == Some(b"ftyp") {
            (AudioFormat::Mp4, None)
        } else if is_audio && begins(b"\x1a\x45\xdf\xa3") {
            (AudioFormat::Webm, None)
        } else {
            return None;
        };
        Some(Self { format, seconds })
    }

    /// The duration, estimated from the size if the format does not say it.
    pub fn estimated_seconds(&self, bytes: usize) -> f64 {
        self.seconds.unwrap_or(bytes as f64 / BYTES_PER_SECOND)
    }
}

impl AudioFormat {
    /// A file name with the extension by which services recognise the format.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Ogg => "audio.ogg",
            Self::Mp3 => "audio.mp3",
            Self::Flac => "audio.flac",
            Self::Wav => "audio.wav",
            Self::Aac => "audio.aac",
            Self::Mp4 => "audio.m4a",
            Self::Webm => "audio.webm",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ogg => "audio/ogg",
            Self::Mp3 => "audio/mpeg",
            Self::Flac => "audio/flac",
            Self::Wav => "audio/wav",
            Self::Aac => "audio/aac",
            Self::Mp4 => "audio/mp4",
            Self::Webm => "audio/webm",
        }
    }
}

/// The duration of an Ogg stream: the position of its last page, in samples (RFC 3533, RFC 7845).
fn ogg_seconds(bytes: &[u8]) -> Option<f64> {
    let find = |what: &[u8]| bytes.windows(what.len()).position(|part| part == what);
    let head = &bytes[..bytes.len().min(256)];
    let at = |from: usize, length: usize| bytes.get(from..from + length);
    let rate = if head.windows(8).any(|part| part == b"OpusHead") {
        48_000
    } else {
        let codec = find(b"\x01vorbis").filter(|at| *at < head.len())?;
        u32::from_le_bytes(at(codec + 12, 4)?.try_into().ok()?)
    };
    let last = bytes.windows(4).rposition(|part| part == b"OggS")?;
    let samples = i64::from_le_bytes(at(last + 6, 8)?.try_into().ok()?);
    (rate > 0 && samples > 0).then(|| samples as f64 / f64::from(rate))
}

/// The size of the samples, divided by the bytes per second in the header.
fn wav_seconds(bytes: &[u8]) -> Option<f64> {
    let number = |from: usize| {
        let bytes = bytes.get(from..from + 4)?;
        Some(f64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
    };
    let rate = number(28).filter(|rate| *rate > 0.0)?;
    Some((bytes.len().saturating_sub(44)) as f64 / rate)
}

/// Samples of 16 bits on one channel as a WAV file.
pub(super) fn wav(samples: &[u8], rate: u32) -> Vec<u8> {
    let length = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    let mut bytes = b"RIFF".to_vec();
    bytes.extend(length.saturating_add(36).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(rate.to_le_bytes());
    bytes.extend(rate.saturating_mul(2).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(length.to_le_bytes());
    bytes.extend(samples);
    bytes
}

/// Whether these bytes are a voice note for platforms that have them: Opus in Ogg.
pub fn is_opus(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(256)];
    bytes.starts_with(b"OggS") && head.windows(8).any(|part| part == b"OpusHead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_and_the_duration_are_read_from_the_bytes() {
        let ogg = fakes::media::opus(3);
        let recording = Recording::of(&ogg, Some("audio/ogg")).unwrap();
        assert_eq!((recording.format, recording.seconds), (AudioFormat::Ogg, Some(3.0)));
        assert!(is_opus(&ogg) && !is_opus(b"OggS"));
        let recording = Recording::of(&wav(&vec![0; 32_000], 8_000), None).unwrap();
        assert_eq!((recording.format, recording.seconds), (AudioFormat::Wav, Some(2.0)));
        let mp3 = Recording::of(b"ID3", None).unwrap();
        assert_eq!((mp3.format, mp3.estimated_seconds(20_000)), (AudioFormat::Mp3, 10.0));
        let format = |bytes: &[u8], declared| Recording::of(bytes, declared).map(|it| it.format);
        assert_eq!(format(b"\xff\xf1\x50", None), Some(AudioFormat::Aac));
        assert_eq!(format(b"\xff\xfb\x90", None), Some(AudioFormat::Mp3));
        let mp4 = b"\0\0\0\x18ftypM4A ";
        assert_eq!(format(mp4, Some("audio/mp4")), Some(AudioFormat::Mp4));
        for (bytes, declared) in [
            (&mp4[..], Some("video/mp4")),
            (mp4, None),
            (b"OggS", Some("video/ogg")),
            (b"%PDF-1.7", Some("audio/ogg")),
            (b"", None),
        ] {
            assert_eq!(format(bytes, declared), None, "{declared:?}");
        }
    }
}
