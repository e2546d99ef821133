-- The hooks that run after a sync, by the name that the configuration gives them. A message, while one is stored, reports
-- the changes after `done_seq` up to `last_seq`; it is repeated unchanged until it is delivered or given up. Changes up to
-- `tried_seq` do not start another run by themselves.
CREATE TABLE after_sync_rows (
  hook         text COLLATE "C" PRIMARY KEY,
  done_seq     bigint NOT NULL,
  tried_seq    bigint NOT NULL,
  body         text COLLATE "C",
  last_seq     bigint,
  queued_at    text COLLATE "C",
  next_at      text COLLATE "C",
  attempts     integer NOT NULL DEFAULT 0,
  ran_at       text COLLATE "C",
  succeeded_at text COLLATE "C",
  last_error   text COLLATE "C"
);
