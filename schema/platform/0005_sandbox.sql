-- What a sandbox must know to continue its world after a restart. One row, written last when a world is made.

CREATE TABLE sandbox (
  no            INTEGER PRIMARY KEY CHECK (no = 1),
  seed          INTEGER NOT NULL,
  companies     INTEGER NOT NULL,
  records       INTEGER NOT NULL,
  offset_millis INTEGER NOT NULL,
  -- The ready document without the addresses, which differ from start to start.
  document      TEXT NOT NULL
) STRICT;
