-- The mirror. Tables ending in _rows and the working tables are ours to change between versions;
-- the views and the tables of dictionary.md are a contract with the people who query them.
--
-- Times are ISO 8601 text in UTC with milliseconds, all of one width, so text order is time order.
-- Cents are 64-bit integers. Booleans are 0 or 1.

CREATE TABLE sources (
  no                INTEGER PRIMARY KEY,
  name              TEXT    NOT NULL UNIQUE,
  fingerprint       TEXT    NOT NULL,
  state             TEXT    NOT NULL DEFAULT 'empty'
                    CHECK (state IN ('empty', 'listing', 'relisting', 'held', 'sweeping', 'following', 'halted')),
  cursor            TEXT,
  cursor_saved_at   TEXT,
  published_through TEXT,
  generation        INTEGER NOT NULL DEFAULT 0,
  -- Set by the commit that made the first listing visible; its rows share this time and change_seq,
  -- so that publishing a million of them writes none of them again.
  listed_at         TEXT,
  listed_seq        INTEGER,
  rows_held         INTEGER NOT NULL DEFAULT 0,
  rows_incoming     INTEGER NOT NULL DEFAULT 0,
  pages_incoming    INTEGER NOT NULL DEFAULT 0,
  quarantined       INTEGER NOT NULL DEFAULT 0,
  identity_included INTEGER CHECK (identity_included IN (0, 1)),
  last_tick_at      TEXT,
  last_success_at   TEXT,
  last_outcome      TEXT,
  last_error_code   TEXT,
  last_error        TEXT,
  last_error_at     TEXT,
  retry_at          TEXT,
  last_committed_at TEXT,
  -- The last complete listing and how many starts it took: spaces the next one when a 410 demands it.
  last_listing_at   TEXT,
  listing_restarts  INTEGER NOT NULL DEFAULT 0,
  -- Where a halted source stood, so that it goes on from there once a human has helped.
  halted_from       TEXT,
  halted_code       TEXT,
  halted_message    TEXT,
  halted_at         TEXT,
  CHECK ((state = 'halted') = (halted_from IS NOT NULL))
) STRICT;

-- A listing under way: the first one, or a re-listing collected beside the live rows.
CREATE TABLE listings (
  source_no   INTEGER PRIMARY KEY REFERENCES sources (no) ON DELETE CASCADE,
  kind        TEXT    NOT NULL CHECK (kind IN ('first', 'relist')),
  generation  INTEGER NOT NULL,
  token       TEXT,
  low_mark    TEXT,
  pages       INTEGER NOT NULL DEFAULT 0,
  rows        INTEGER NOT NULL DEFAULT 0,
  restarts    INTEGER NOT NULL DEFAULT 0,
  not_before  TEXT,
  started_at  TEXT    NOT NULL,
  -- The brake: a complete listing that waits for a human, with what it would delete.
  final       TEXT,
  would_remove INTEGER
) STRICT;

-- What a sweep still has to read: everything published since the low mark of the listing before it.
CREATE TABLE sweeps (
  source_no INTEGER PRIMARY KEY REFERENCES sources (no) ON DELETE CASCADE,
  since     TEXT,
  -- The listing's final position, and where the sweep itself has come to.
  cursor    TEXT NOT NULL,
  reached   TEXT
) STRICT;

-- Rows of a source become visible when its first listing is complete (sources.listed_at).
-- valid_from and change_seq are null for rows of that first commit: see sources.listed_at, listed_seq.
CREATE TABLE investment_rows (
  row_no               INTEGER PRIMARY KEY,
  source_no            INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                   TEXT    NOT NULL,
  company_id           TEXT,
  offering_id          TEXT,
  investor_id          TEXT,
  status               TEXT    NOT NULL,
  group_label          TEXT,
  investment_type      TEXT,
  offering_type        TEXT,
  applied_at           TEXT,
  currency             TEXT,
  committed_cents      INTEGER,
  investment_size_cents INTEGER,
  in_escrow_cents      INTEGER,
  raised_cents         INTEGER,
  shares               TEXT,
  average_share_price  TEXT,
  needs_whitelisting   INTEGER NOT NULL CHECK (needs_whitelisting IN (0, 1)),
  visible              INTEGER NOT NULL CHECK (visible IN (0, 1)),
  converted_to         TEXT,
  converted_from       TEXT,
  investor_deactivated INTEGER NOT NULL CHECK (investor_deactivated IN (0, 1)),
  via_entity           INTEGER NOT NULL CHECK (via_entity IN (0, 1)),
  blockers             TEXT    NOT NULL,
  contracts            TEXT    NOT NULL,
  observed_at          TEXT    NOT NULL,
  reason               TEXT,
  extra                TEXT,
  valid_from           TEXT,
  change_seq           INTEGER
) STRICT;

-- Unique on (id, source_no) and indexed further by indexes.sql, before anything becomes visible.

-- The only table with names in it. row_no is that of investment_rows (or, while staged, of staged_rows).
CREATE TABLE identity_rows (
  row_no            INTEGER PRIMARY KEY REFERENCES investment_rows (row_no) ON DELETE CASCADE,
  name              TEXT,
  legal_name        TEXT,
  email             TEXT,
  address_line      TEXT,
  city              TEXT,
  state             TEXT,
  postal_code       TEXT,
  country           TEXT,
  bio               TEXT,
  message           TEXT,
  external_username TEXT,
  email_hidden      INTEGER NOT NULL DEFAULT 0 CHECK (email_hidden IN (0, 1)),
  extra             TEXT
) STRICT;

-- Superseded versions only, so a first listing writes none and as-of stays one query. No identity.
CREATE TABLE history_rows (
  history_no           INTEGER PRIMARY KEY,
  source_no            INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                   TEXT    NOT NULL,
  company_id           TEXT,
  offering_id          TEXT,
  investor_id          TEXT,
  status               TEXT    NOT NULL,
  group_label          TEXT,
  investment_type      TEXT,
  offering_type        TEXT,
  applied_at           TEXT,
  currency             TEXT,
  committed_cents      INTEGER,
  investment_size_cents INTEGER,
  in_escrow_cents      INTEGER,
  raised_cents         INTEGER,
  shares               TEXT,
  average_share_price  TEXT,
  needs_whitelisting   INTEGER NOT NULL,
  visible              INTEGER NOT NULL,
  converted_to         TEXT,
  converted_from       TEXT,
  investor_deactivated INTEGER NOT NULL,
  via_entity           INTEGER NOT NULL,
  blockers             TEXT    NOT NULL,
  contracts            TEXT    NOT NULL,
  observed_at          TEXT    NOT NULL,
  reason               TEXT,
  extra                TEXT,
  valid_from           TEXT    NOT NULL,
  change_seq           INTEGER NOT NULL,
  valid_to             TEXT    NOT NULL,
  ended_by             TEXT    NOT NULL CHECK (ended_by IN ('update', 'tombstone', 'relist'))
) STRICT;

CREATE INDEX history_rows_record ON history_rows (id, source_no, valid_from);
CREATE INDEX history_rows_validity ON history_rows (source_no, valid_to, valid_from);

-- The local feed, dense in the order of commit. `snapshot` marks a first listing in one row.
-- AUTOINCREMENT, so that no number comes twice even when old rows are pruned.
CREATE TABLE change_rows (
  seq       INTEGER PRIMARY KEY AUTOINCREMENT,
  source_no INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id        TEXT,
  kind      TEXT    NOT NULL CHECK (kind IN ('snapshot', 'added', 'changed', 'removed')),
  fields    TEXT    NOT NULL DEFAULT '[]',
  reason    TEXT,
  at        TEXT    NOT NULL
) STRICT;

CREATE INDEX change_rows_record ON change_rows (id, source_no, seq);

-- A re-listing: what differs from the live row, whole, and for every page which live rows it named.
CREATE TABLE staged_rows (
  stage_no             INTEGER PRIMARY KEY,
  source_no            INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id                   TEXT    NOT NULL,
  -- The live row it will replace; null for a record that is new.
  row_no               INTEGER,
  company_id           TEXT,
  offering_id          TEXT,
  investor_id          TEXT,
  status               TEXT    NOT NULL,
  group_label          TEXT,
  investment_type      TEXT,
  offering_type        TEXT,
  applied_at           TEXT,
  currency             TEXT,
  committed_cents      INTEGER,
  investment_size_cents INTEGER,
  in_escrow_cents      INTEGER,
  raised_cents         INTEGER,
  shares               TEXT,
  average_share_price  TEXT,
  needs_whitelisting   INTEGER NOT NULL,
  visible              INTEGER NOT NULL,
  converted_to         TEXT,
  converted_from       TEXT,
  investor_deactivated INTEGER NOT NULL,
  via_entity           INTEGER NOT NULL,
  blockers             TEXT    NOT NULL,
  contracts            TEXT    NOT NULL,
  observed_at          TEXT    NOT NULL,
  reason               TEXT,
  extra                TEXT,
  -- As JSON; erased with the person, gone with the swap.
  identity             TEXT,
  UNIQUE (source_no, id)
) STRICT;

CREATE TABLE staged_pages (
  source_no INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  page      INTEGER NOT NULL,
  -- JSON array of row_no: live rows that this page named, changed or not.
  seen      TEXT    NOT NULL,
  PRIMARY KEY (source_no, page)
) STRICT, WITHOUT ROWID;

CREATE TABLE tick_rows (
  tick        INTEGER PRIMARY KEY,
  source_no   INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  trigger     TEXT    NOT NULL CHECK (trigger IN ('start', 'timer', 'webhook', 'manual')),
  mode        TEXT    NOT NULL,
  started_at  TEXT    NOT NULL,
  took_ms     INTEGER NOT NULL,
  pages       INTEGER NOT NULL,
  added       INTEGER NOT NULL,
  changed     INTEGER NOT NULL,
  removed     INTEGER NOT NULL,
  quarantined INTEGER NOT NULL,
  outcome     TEXT    NOT NULL,
  code        TEXT,
  message     TEXT
) STRICT;

CREATE INDEX tick_rows_source ON tick_rows (source_no, tick);

CREATE TABLE quarantine_rows (
  quarantine_no INTEGER PRIMARY KEY,
  source_no     INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  id            TEXT,
  problem       TEXT    NOT NULL,
  body          TEXT,
  seen_at       TEXT    NOT NULL,
  resolved_at   TEXT
) STRICT;

CREATE INDEX quarantine_rows_record ON quarantine_rows (source_no, id);

-- Fields the platform sends that this version does not know, counted.
CREATE TABLE drift_rows (
  source_no  INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  field      TEXT    NOT NULL,
  times      INTEGER NOT NULL,
  first_seen TEXT    NOT NULL,
  last_seen  TEXT    NOT NULL,
  PRIMARY KEY (source_no, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_inbox (
  inbox_no     INTEGER PRIMARY KEY,
  event_id     TEXT    NOT NULL,
  installation TEXT    NOT NULL,
  event        TEXT    NOT NULL,
  source       TEXT,
  investment   TEXT,
  observed_at  TEXT,
  test         INTEGER NOT NULL DEFAULT 0 CHECK (test IN (0, 1)),
  received_at  TEXT    NOT NULL,
  state        TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'worked', 'ignored', 'given_up')),
  attempts     INTEGER NOT NULL DEFAULT 0,
  next_at      TEXT,
  worked_at    TEXT,
  body         TEXT,
  UNIQUE (event_id, installation)
) STRICT;

CREATE INDEX webhook_inbox_pending ON webhook_inbox (state, next_at) WHERE state = 'pending';

CREATE TABLE notice_rows (
  notice      INTEGER PRIMARY KEY,
  source_no   INTEGER NOT NULL REFERENCES sources (no) ON DELETE CASCADE,
  seq         INTEGER NOT NULL,
  target      TEXT    NOT NULL,
  body        TEXT    NOT NULL,
  queued_at   TEXT    NOT NULL,
  state       TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'given_up')),
  attempts    INTEGER NOT NULL DEFAULT 0,
  next_at     TEXT    NOT NULL,
  delivered_at TEXT,
  last_error  TEXT
) STRICT;

CREATE INDEX notice_rows_pending ON notice_rows (state, next_at) WHERE state = 'pending';

CREATE TABLE leases (
  source_no  INTEGER PRIMARY KEY REFERENCES sources (no) ON DELETE CASCADE,
  holder     TEXT    NOT NULL,
  fence      INTEGER NOT NULL,
  expires_at TEXT    NOT NULL
) STRICT;

-- Requests spent per token and window, so that a restart does not forget what was used. The token is a digest.
CREATE TABLE budgets (
  token        TEXT    NOT NULL,
  window_start TEXT    NOT NULL,
  spent        INTEGER NOT NULL,
  blocked_until TEXT,
  PRIMARY KEY (token)
) STRICT, WITHOUT ROWID;

-- Erasures: invisible at once, scrubbed from the file's bytes soon after. No identity in the receipt.
CREATE TABLE erasures (
  erasure      INTEGER PRIMARY KEY,
  source_no    INTEGER REFERENCES sources (no) ON DELETE CASCADE,
  id           TEXT,
  cause        TEXT    NOT NULL,
  invisible_at TEXT    NOT NULL,
  scrubbed_at  TEXT
) STRICT;

CREATE INDEX erasures_pending ON erasures (scrubbed_at) WHERE scrubbed_at IS NULL;
