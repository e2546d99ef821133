-- What users of the console did: names of users and tokens, ids and counts, no personal data of investors. `note` is
-- rosterd's own text.
CREATE TABLE audit_log (
  entry     INTEGER PRIMARY KEY AUTOINCREMENT,
  at        TEXT    NOT NULL,
  actor     TEXT    NOT NULL,
  role      TEXT    NOT NULL,
  action    TEXT    NOT NULL,
  outcome   TEXT    NOT NULL CHECK (outcome IN ('asked', 'done', 'refused', 'failed')),
  source    TEXT,
  subject   TEXT,
  rows_seen INTEGER,
  note      TEXT
) STRICT;

-- What an operator asked for at the console. The daemon that works on the source deletes a row when it begins.
-- `confirmed_rows` is the number of rows whose deletion the operator confirmed.
CREATE TABLE operator_requests (
  source   TEXT NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('resync', 'accept_deletions', 'retry_quarantine')),
  actor    TEXT NOT NULL,
  role     TEXT NOT NULL,
  asked_at TEXT NOT NULL,
  confirmed_rows INTEGER CHECK ((confirmed_rows IS NOT NULL) = (kind = 'accept_deletions')),
  PRIMARY KEY (source, kind)
) STRICT, WITHOUT ROWID;
