-- What applications propose and people decide.

CREATE TABLE intents (
  no                 INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  -- In the link to the review page, which every reading shows again. It names the intent and decides nothing.
  token              TEXT NOT NULL UNIQUE,
  -- The account behind the credential that proposed it: what it may list, and where its keys count.
  holder             TEXT NOT NULL,
  application_no     INTEGER NOT NULL REFERENCES applications (no),
  realm              TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  -- The person who proposed; null when an installation or a key did.
  user_no            INTEGER REFERENCES users (no),
  installation_no    INTEGER REFERENCES installations (no),
  action             TEXT NOT NULL,
  resource_type      TEXT NOT NULL,
  resource_id        TEXT NOT NULL,
  params             TEXT NOT NULL,
  idempotency_key    TEXT NOT NULL,
  fingerprint        TEXT NOT NULL,
  requested_by_agent TEXT,
  impact_summary     TEXT NOT NULL,
  status             TEXT NOT NULL
    CHECK (status IN ('pending', 'approved', 'executing', 'executed', 'expired', 'rejected', 'failed')),
  expires_at         INTEGER NOT NULL,
  decided_by_no      INTEGER REFERENCES users (no),
  approved_at        INTEGER,
  executed_at        INTEGER,
  rejection_reason   TEXT,
  execution_result   TEXT,
  failure_reason     TEXT,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL
) STRICT;

-- A key may be used anew once what it stood for came to nothing.
CREATE UNIQUE INDEX intents_key ON intents (holder, idempotency_key)
  WHERE status IN ('pending', 'approved', 'executing', 'executed');
CREATE INDEX intents_holder ON intents (holder, no);
CREATE INDEX intents_open ON intents (status, expires_at) WHERE status IN ('pending', 'approved', 'executing');

-- An action with a row here is being rolled out: of people, only those enabled below may propose it.
CREATE TABLE action_rollouts (
  action TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE action_rollout_users (
  action  TEXT NOT NULL REFERENCES action_rollouts (action) ON DELETE CASCADE,
  user_no INTEGER NOT NULL REFERENCES users (no),
  PRIMARY KEY (action, user_no)
) STRICT, WITHOUT ROWID;

-- Nobody decides any more on what a closed account proposed, and its words go with it.
CREATE TRIGGER users_deactivated_intents AFTER UPDATE OF deactivated_at ON users WHEN new.deactivated_at IS NOT NULL
BEGIN
  UPDATE intents SET params = '{}', impact_summary = '',
    status = CASE status WHEN 'pending' THEN 'expired' ELSE status END
    WHERE user_no = new.no;
END;
