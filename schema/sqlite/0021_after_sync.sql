-- The hooks that run after a sync, by the name that the configuration gives them. A message, while one is stored, reports
-- the changes after `done_seq` up to `last_seq`; it is repeated unchanged until it is delivered or given up. Changes up to
-- `tried_seq` do not start another run by themselves.
CREATE TABLE after_sync_rows (
  hook         TEXT    PRIMARY KEY,
  done_seq     INTEGER NOT NULL,
  tried_seq    INTEGER NOT NULL,
  body         TEXT,
  last_seq     INTEGER,
  queued_at    TEXT,
  next_at      TEXT,
  attempts     INTEGER NOT NULL DEFAULT 0,
  ran_at       TEXT,
  succeeded_at TEXT,
  last_error   TEXT
) STRICT, WITHOUT ROWID;
