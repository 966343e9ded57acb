-- In groups, each person may have a conversation of their own.

ALTER TABLE conversations ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations DROP CONSTRAINT conversations_channel_chat_thread_key;
ALTER TABLE conversations ADD UNIQUE (channel, chat, thread, person);
