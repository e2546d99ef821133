-- Who there is: people, organizations, applications with their keys, and what they can be installed on.
-- Secrets stand as SHA-256 digests; only test secrets of an application stay readable.

CREATE TABLE users (
  no             INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  email          TEXT NOT NULL UNIQUE,
  username       TEXT NOT NULL,
  name           TEXT NOT NULL,
  legal_name     TEXT NOT NULL,
  bio            TEXT,
  address        TEXT,
  accredited     INTEGER NOT NULL DEFAULT 0,
  deactivated_at INTEGER,
  created_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE organizations (
  no   INTEGER PRIMARY KEY,
  id   TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL
) STRICT;

CREATE TABLE organization_members (
  organization_no INTEGER NOT NULL REFERENCES organizations (no),
  user_no         INTEGER NOT NULL REFERENCES users (no),
  role            TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'viewer')),
  PRIMARY KEY (organization_no, user_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE applications (
  no              INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  organization_no INTEGER NOT NULL REFERENCES organizations (no),
  name            TEXT NOT NULL,
  confidential    INTEGER NOT NULL DEFAULT 1,
  redirect_uris   TEXT NOT NULL DEFAULT '[]',
  setup_url       TEXT,
  scopes          TEXT NOT NULL DEFAULT '[]',
  status          TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'disabled', 'deleted')),
  approved_at     INTEGER,
  pii_approved    INTEGER NOT NULL DEFAULT 0,
  pinned_version  TEXT NOT NULL,
  created_at      INTEGER NOT NULL
) STRICT;

-- One test and one live key pair per application. client_id doubles as the publishable key.
CREATE TABLE clients (
  client_id      TEXT PRIMARY KEY,
  application_no INTEGER NOT NULL REFERENCES applications (no),
  realm          TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  secret_digest  TEXT NOT NULL,
  secret_plain   TEXT,
  archived_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE companies (
  no         INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  realm      TEXT NOT NULL DEFAULT 'test' CHECK (realm IN ('test', 'live')),
  name       TEXT NOT NULL,
  slug       TEXT NOT NULL UNIQUE,
  tagline    TEXT,
  created_at INTEGER NOT NULL
) STRICT;

-- founder and admin without can_edit install read-only on the current version.
CREATE TABLE company_members (
  company_no INTEGER NOT NULL REFERENCES companies (no),
  user_no    INTEGER NOT NULL REFERENCES users (no),
  tier       TEXT NOT NULL CHECK (tier IN ('founder', 'admin', 'editor')),
  can_edit   INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (company_no, user_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE offerings (
  no                 INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  company_no         INTEGER NOT NULL REFERENCES companies (no),
  syndicate_no       INTEGER,
  status             TEXT NOT NULL DEFAULT 'open',
  currency           TEXT NOT NULL DEFAULT 'usd',
  investment_type    TEXT NOT NULL DEFAULT 'SAFE',
  offering_type      TEXT NOT NULL DEFAULT 'Reg CF',
  share_price_cents  INTEGER,
  testing_the_waters INTEGER NOT NULL DEFAULT 0,
  started_at         INTEGER,
  closes_at          INTEGER,
  closed_at          INTEGER,
  created_at         INTEGER NOT NULL
) STRICT;

CREATE INDEX offerings_company ON offerings (company_no);

CREATE TABLE syndicates (
  no              INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  realm           TEXT NOT NULL DEFAULT 'test' CHECK (realm IN ('test', 'live')),
  name            TEXT NOT NULL,
  slug            TEXT NOT NULL UNIQUE,
  created_by_no   INTEGER NOT NULL REFERENCES users (no),
  created_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE syndicate_managers (
  syndicate_no INTEGER NOT NULL REFERENCES syndicates (no),
  user_no      INTEGER NOT NULL REFERENCES users (no),
  permission   TEXT NOT NULL CHECK (permission IN ('full_access', 'operator')),
  PRIMARY KEY (syndicate_no, user_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE installations (
  no              INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  application_no  INTEGER NOT NULL REFERENCES applications (no),
  realm           TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  company_no      INTEGER REFERENCES companies (no),
  syndicate_no    INTEGER REFERENCES syndicates (no),
  -- A user who connected the application; such an installation has no company and no syndicate.
  user_no         INTEGER REFERENCES users (no),
  tier            TEXT NOT NULL,
  scopes          TEXT NOT NULL,
  installed_by_no INTEGER REFERENCES users (no),
  installed_at    INTEGER NOT NULL,
  revoked_at      INTEGER
) STRICT;

CREATE UNIQUE INDEX installations_active_company ON installations (application_no, company_no)
  WHERE revoked_at IS NULL AND company_no IS NOT NULL;
CREATE UNIQUE INDEX installations_active_syndicate ON installations (application_no, syndicate_no)
  WHERE revoked_at IS NULL AND syndicate_no IS NOT NULL;

-- Bearer credentials that are minted. Publishable keys are not: they are the client ids above.
CREATE TABLE access_tokens (
  no              INTEGER PRIMARY KEY,
  digest          TEXT NOT NULL UNIQUE,
  realm           TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  kind            TEXT NOT NULL CHECK (kind IN ('user', 'installation', 'application', 'syndicate_key')),
  application_no  INTEGER NOT NULL REFERENCES applications (no),
  user_no         INTEGER REFERENCES users (no),
  installation_no INTEGER REFERENCES installations (no),
  syndicate_no    INTEGER REFERENCES syndicates (no),
  -- The authorization this token descends from; a family dies as one.
  family          TEXT,
  scopes          TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER,
  first_used_at   INTEGER,
  revoked_at      INTEGER
) STRICT;

CREATE INDEX access_tokens_installation ON access_tokens (installation_no);
CREATE INDEX access_tokens_family ON access_tokens (family);

-- Requests counted per key and fixed window; one row per key, the old window is overwritten.
CREATE TABLE windows (
  limit_name   TEXT    NOT NULL,
  key          TEXT    NOT NULL,
  window_start INTEGER NOT NULL,
  spent        INTEGER NOT NULL,
  PRIMARY KEY (limit_name, key)
) STRICT, WITHOUT ROWID;
