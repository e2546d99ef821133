-- What a sandbox must know to continue its world after a restart. One row.

CREATE TABLE sandbox (
  no            INTEGER PRIMARY KEY CHECK (no = 1),
  seed          INTEGER NOT NULL,
  companies     INTEGER NOT NULL,
  records       INTEGER NOT NULL,
  offset_millis INTEGER NOT NULL,
  -- The ready document without the addresses, which differ from start to start. Null while the world is being made.
  document      TEXT
) STRICT;
