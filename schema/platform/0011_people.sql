-- What people do besides investing, and what became of what they invested in.

CREATE TABLE user_profiles (
  user_no      INTEGER PRIMARY KEY REFERENCES users (no),
  avatar_url   TEXT,
  certified_at INTEGER
) STRICT;

CREATE TABLE follows (
  user_no     INTEGER NOT NULL REFERENCES users (no),
  company_no  INTEGER NOT NULL REFERENCES companies (no),
  followed_at INTEGER NOT NULL,
  PRIMARY KEY (user_no, company_no)
) STRICT, WITHOUT ROWID;

-- What applications did for a person. Read through GET /activity of the first version.
CREATE TABLE audit_events (
  no             INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  realm          TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  user_no        INTEGER NOT NULL REFERENCES users (no),
  application_no INTEGER NOT NULL REFERENCES applications (no),
  action         TEXT NOT NULL,
  resource_type  TEXT NOT NULL,
  resource_id    TEXT NOT NULL,
  resource_label TEXT,
  old_values     TEXT,
  new_values     TEXT,
  status         TEXT NOT NULL CHECK (status IN ('success', 'failure', 'denied')),
  error_message  TEXT,
  occurred_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_events_user ON audit_events (user_no, application_no, occurred_at);

-- What a round is worth now. `value_ppm` is the value of a million of cost: current while active, received at an end.
CREATE TABLE offering_outcomes (
  offering_no INTEGER PRIMARY KEY REFERENCES offerings (no),
  status      TEXT NOT NULL CHECK (status IN ('active', 'exited', 'sold', 'failed')),
  exit_reason TEXT CHECK (exit_reason IN ('ipo', 'acquisition', 'buyback', 'failed', 'winding_down')),
  exited_on   TEXT,
  value_ppm   INTEGER NOT NULL,
  as_of       INTEGER NOT NULL
) STRICT;

-- The companies a fund has put its money into.
CREATE TABLE fund_holdings (
  offering_no INTEGER NOT NULL REFERENCES offerings (no),
  company_no  INTEGER NOT NULL REFERENCES companies (no),
  status      TEXT NOT NULL CHECK (status IN ('active', 'failed', 'exited')),
  PRIMARY KEY (offering_no, company_no)
) STRICT, WITHOUT ROWID;
