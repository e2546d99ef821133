-- Authorizations: who let which application act for them, and the credentials that descend from that.
-- Every secret stands as a SHA-256 digest. Scopes are space-separated here, as they are on installations and tokens.

-- One consent, and everything issued from it: the family. It dies as one.
CREATE TABLE grants (
  family          TEXT PRIMARY KEY,
  application_no  INTEGER NOT NULL REFERENCES applications (no),
  client_id       TEXT NOT NULL REFERENCES clients (client_id),
  user_no         INTEGER NOT NULL REFERENCES users (no),
  -- The connection the consent belongs to; null until the code is exchanged.
  installation_no INTEGER REFERENCES installations (no),
  scopes          TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  -- However often it is refreshed, it ends here.
  expires_at      INTEGER NOT NULL,
  revoked_at      INTEGER,
  revoked_because TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_installation ON grants (installation_no);
CREATE INDEX grants_application ON grants (application_no);

-- A used code is kept: its second appearance must find what the first one issued.
CREATE TABLE authorization_codes (
  digest       TEXT PRIMARY KEY,
  family       TEXT NOT NULL REFERENCES grants (family),
  redirect_uri TEXT NOT NULL,
  challenge    TEXT NOT NULL,
  expires_at   INTEGER NOT NULL,
  used_at      INTEGER
) STRICT, WITHOUT ROWID;

-- The tokens of a family form a tree: whoever presents one gets a child of it. Those alive are the one whose access
-- token was last used, and everything issued below it of which no access token has been used yet.
CREATE TABLE refresh_tokens (
  no              INTEGER PRIMARY KEY,
  digest          TEXT NOT NULL UNIQUE,
  family          TEXT NOT NULL REFERENCES grants (family),
  -- The one that was presented for it; null for the first of the family.
  parent_no       INTEGER REFERENCES refresh_tokens (no),
  -- Issued together with it; its first use ends every refresh token that is not below this one.
  access_token_no INTEGER NOT NULL UNIQUE REFERENCES access_tokens (no),
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  -- Superseded by the use of a later pair, or of one issued beside it.
  ended_at        INTEGER
) STRICT;

CREATE INDEX refresh_tokens_family ON refresh_tokens (family);
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent_no);

-- A person signed in at the consent page. The cookie's value is the secret, its digest the key.
CREATE TABLE browser_sessions (
  digest     TEXT PRIMARY KEY,
  user_no    INTEGER NOT NULL REFERENCES users (no),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX browser_sessions_expiry ON browser_sessions (expires_at);

-- Asked for by the application's organization, decided by the platform.
CREATE TABLE application_reviews (
  application_no INTEGER PRIMARY KEY REFERENCES applications (no),
  requested_at   INTEGER NOT NULL,
  decided_at     INTEGER,
  approved       INTEGER
) STRICT;

CREATE UNIQUE INDEX installations_active_user ON installations (application_no, realm, user_no)
  WHERE revoked_at IS NULL AND user_no IS NOT NULL;
CREATE INDEX access_tokens_application ON access_tokens (application_no);
