-- An investment as it is (derived from these rows), and as it was published (the feed).

CREATE TABLE investments (
  no                INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  company_no        INTEGER NOT NULL REFERENCES companies (no),
  offering_no       INTEGER NOT NULL REFERENCES offerings (no),
  investor_no       INTEGER NOT NULL REFERENCES users (no),
  status            TEXT NOT NULL
    CHECK (status IN ('reserved', 'active', 'executed', 'canceled', 'converted', 'needs_whitelisting')),
  group_label       TEXT,
  -- Set when the person invests through a company or a retirement account: its legal name.
  entity_name       TEXT,
  committed_cents   INTEGER NOT NULL,
  in_escrow_cents   INTEGER,
  applied_at        INTEGER NOT NULL,
  canceled_at       INTEGER,
  message           TEXT,
  external_username TEXT,
  blockers          TEXT NOT NULL DEFAULT '[]',
  contracts         TEXT NOT NULL DEFAULT '[]',
  converted_to_no   INTEGER REFERENCES investments (no),
  converted_from_no INTEGER REFERENCES investments (no),
  hidden            INTEGER NOT NULL DEFAULT 0,
  deleted_at        INTEGER,
  -- Record fields that were set by hand and win over what would be derived; JSON of the record's own shape.
  overrides         TEXT
) STRICT;

CREATE INDEX investments_company ON investments (company_no, no);
CREATE INDEX investments_investor ON investments (investor_no, company_no);

-- The record as last published, whole: `content` has no identity, `identity` has nothing else.
CREATE TABLE publications (
  investment_no   INTEGER PRIMARY KEY REFERENCES investments (no),
  company_no      INTEGER NOT NULL,
  offering_no     INTEGER NOT NULL,
  investor_no     INTEGER NOT NULL,
  status          TEXT NOT NULL,
  committed_cents INTEGER NOT NULL,
  raised_cents    INTEGER NOT NULL,
  visible         INTEGER NOT NULL,
  gone            INTEGER NOT NULL,
  content         TEXT NOT NULL,
  identity        TEXT NOT NULL,
  observed_at     INTEGER NOT NULL
) STRICT;

-- Listings walk one of these by investment number: a page costs the same wherever it stands.
CREATE INDEX publications_company ON publications (company_no, investment_no) WHERE visible = 1;
CREATE INDEX publications_status ON publications (company_no, status, investment_no) WHERE visible = 1;
-- Covers the totals of an offering as well.
CREATE INDEX publications_offering
  ON publications (offering_no, investment_no, status, committed_cents, raised_cents) WHERE visible = 1;
CREATE INDEX publications_investor ON publications (investor_no, investment_no);
CREATE INDEX publications_gone ON publications (observed_at) WHERE gone = 1;

-- The feed. One row per investment and audience (and per offering it has left): publishing again takes a new number,
-- so a superseded row, which nobody could be sent any more, is never kept.
CREATE TABLE ledger (
  seq           INTEGER PRIMARY KEY,
  audience      TEXT NOT NULL CHECK (audience IN ('company', 'investor')),
  investment_no INTEGER NOT NULL,
  company_no    INTEGER NOT NULL,
  offering_no   INTEGER NOT NULL,
  investor_no   INTEGER NOT NULL,
  -- 0: this audience is sent a tombstone.
  shown         INTEGER NOT NULL,
  -- 1: the investment moved to another offering; only a reader of the old one is told.
  departed      INTEGER NOT NULL DEFAULT 0,
  reason        TEXT NOT NULL,
  observed_at   INTEGER NOT NULL,
  UNIQUE (investment_no, audience, offering_no)
) STRICT;

CREATE INDEX ledger_company ON ledger (company_no, seq) WHERE audience = 'company' AND departed = 0;
CREATE INDEX ledger_offering ON ledger (offering_no, seq) WHERE audience = 'company';
CREATE INDEX ledger_investor ON ledger (investor_no, seq);
CREATE INDEX ledger_time ON ledger (observed_at, seq);
CREATE INDEX ledger_tombstones ON ledger (observed_at) WHERE shown = 0;

-- One row: the last number given out, the time of it, and the key cursors are sealed with.
CREATE TABLE feed (
  no          INTEGER PRIMARY KEY CHECK (no = 1),
  head        INTEGER NOT NULL,
  observed_at INTEGER NOT NULL,
  cursor_key  BLOB NOT NULL
) STRICT;

-- Changes that wait for the publisher, when it is told to be slow.
CREATE TABLE publish_queue (
  investment_no INTEGER PRIMARY KEY REFERENCES investments (no),
  reason        TEXT NOT NULL,
  due_at        INTEGER NOT NULL
) STRICT;

CREATE INDEX publish_queue_due ON publish_queue (due_at);
