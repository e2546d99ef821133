-- Sources that an operator has paused, by name: a source may be paused before it is first listed.
CREATE TABLE pauses (
  source    TEXT PRIMARY KEY,
  paused_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Conditions that an operator was told of and that have not been resolved. `gone_since` is set while the condition is
-- absent: the resolve message is sent once it has been absent for a while, so that a condition that comes and goes sends
-- one message.
CREATE TABLE open_alerts (
  key        TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  source     TEXT,
  text       TEXT NOT NULL,
  since      TEXT NOT NULL,
  gone_since TEXT
) STRICT, WITHOUT ROWID;

-- Messages about them, each to one receiver; the columns mean what they mean in notice_rows.
CREATE TABLE alert_rows (
  notice       INTEGER PRIMARY KEY,
  key          TEXT    NOT NULL,
  source       TEXT    NOT NULL,
  target       TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  queued_at    TEXT    NOT NULL,
  state        TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'given_up')),
  attempts     INTEGER NOT NULL DEFAULT 0,
  next_at      TEXT    NOT NULL,
  delivered_at TEXT,
  last_error   TEXT
) STRICT;
CREATE INDEX alert_rows_pending ON alert_rows (target, next_at) WHERE state = 'pending';
