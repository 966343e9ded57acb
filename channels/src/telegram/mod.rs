//! Telegram: teloxide stays inside this folder.
