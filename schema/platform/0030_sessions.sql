-- Hosted checkouts: what an application made for one recipient, and what a person started at a link.

-- What a request that may be repeated was answered with, for a day.
CREATE TABLE idempotency_keys (
  holder      TEXT NOT NULL,
  key         TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  status      INTEGER NOT NULL,
  body        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (holder, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

CREATE TABLE investment_sessions (
  no               INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  -- In the link, which every reading of the session shows again: a digest would not do. It opens a page that asks
  -- who is there, and is worth nothing once the session has ended.
  token            TEXT NOT NULL UNIQUE,
  application_no   INTEGER NOT NULL REFERENCES applications (no),
  realm            TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  offering_no      INTEGER NOT NULL REFERENCES offerings (no),
  -- Only what an application asked for by the API is shown by the API.
  origin           TEXT NOT NULL CHECK (origin IN ('api', 'link')),
  -- As addressed; null for a recipient named by account.
  email            TEXT,
  -- The account, as soon as it is known.
  recipient_no     INTEGER REFERENCES users (no),
  allocation_cents INTEGER,
  chosen_cents     INTEGER,
  status           TEXT NOT NULL
    CHECK (status IN ('pending', 'in_progress', 'abandoned', 'canceled', 'completed', 'expired')),
  kyc_status       TEXT NOT NULL DEFAULT 'pending' CHECK (kyc_status IN ('pending', 'passed', 'failed')),
  funding_status   TEXT NOT NULL DEFAULT 'pending'
    CHECK (funding_status IN ('pending', 'succeeded', 'card_declined', 'insufficient_funds')),
  investment_no    INTEGER REFERENCES investments (no),
  success_url      TEXT,
  metadata         TEXT,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER NOT NULL,
  -- The last time its person did something; a day of silence abandons it.
  touched_at       INTEGER NOT NULL,
  CHECK ((status = 'completed') = (investment_no IS NOT NULL))
) STRICT;

-- One active session per recipient and offering, whichever application made it.
CREATE UNIQUE INDEX investment_sessions_email ON investment_sessions (offering_no, lower(email))
  WHERE origin = 'api' AND email IS NOT NULL AND status IN ('pending', 'in_progress', 'abandoned');
CREATE UNIQUE INDEX investment_sessions_account ON investment_sessions (offering_no, recipient_no)
  WHERE origin = 'api' AND recipient_no IS NOT NULL AND status IN ('pending', 'in_progress', 'abandoned');
CREATE INDEX investment_sessions_listing ON investment_sessions (application_no, realm, offering_no, no);
CREATE INDEX investment_sessions_open ON investment_sessions (expires_at)
  WHERE status IN ('pending', 'in_progress', 'abandoned');

CREATE TABLE investment_session_events (
  no          INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  session_no  INTEGER NOT NULL REFERENCES investment_sessions (no),
  event       TEXT NOT NULL,
  occurred_at INTEGER NOT NULL
) STRICT;

CREATE INDEX investment_session_events_session ON investment_session_events (session_no, no);

-- An account that is closed takes its address along and leaves nothing half done.
CREATE TRIGGER users_deactivated_sessions AFTER UPDATE OF deactivated_at ON users WHEN new.deactivated_at IS NOT NULL
BEGIN
  UPDATE investment_sessions SET email = NULL, metadata = NULL, recipient_no = new.no,
    status = CASE WHEN status IN ('pending', 'in_progress', 'abandoned') THEN 'canceled' ELSE status END
    WHERE recipient_no = new.no OR lower(email) = lower(old.email);
  DELETE FROM idempotency_keys WHERE instr(lower(body), lower(old.email)) > 0;
END;
