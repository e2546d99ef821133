-- People who bring investors, and what companies let them see of it.

CREATE TABLE attribution_partners (
  user_no      INTEGER PRIMARY KEY REFERENCES users (no),
  company_name TEXT NOT NULL,
  website      TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected')),
  created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE attribution_invites (
  no             INTEGER PRIMARY KEY,
  token          TEXT NOT NULL UNIQUE,
  application_no INTEGER NOT NULL REFERENCES applications (no),
  realm          TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  user_no        INTEGER NOT NULL REFERENCES users (no),
  direction      TEXT NOT NULL CHECK (direction IN ('partner_to_founder', 'founder_to_partner')),
  company_no     INTEGER NOT NULL REFERENCES companies (no),
  partner_email  TEXT,
  -- 1 anonymized, 2 detailed.
  access_level   INTEGER NOT NULL CHECK (access_level IN (1, 2)),
  created_at     INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL,
  accepted_at    INTEGER,
  revoked_at     INTEGER
) STRICT;

CREATE INDEX attribution_invites_user ON attribution_invites (user_no, application_no, no);

CREATE TRIGGER users_deactivated_attribution AFTER UPDATE OF deactivated_at ON users
WHEN new.deactivated_at IS NOT NULL
BEGIN
  DELETE FROM attribution_partners WHERE user_no = new.no;
  UPDATE attribution_invites SET partner_email = NULL, revoked_at = coalesce(revoked_at, new.deactivated_at)
    WHERE user_no = new.no OR lower(partner_email) = lower(old.email);
END;
