-- Links that bring people to a checkout: referral codes of applications, invite links to offerings.

-- An organization that accepted the terms under which referrals are attributed.
CREATE TABLE attribution_terms (
  organization_no INTEGER PRIMARY KEY REFERENCES organizations (no),
  accepted_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE referral_codes (
  no             INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  application_no INTEGER NOT NULL REFERENCES applications (no),
  realm          TEXT NOT NULL CHECK (realm IN ('test', 'live')),
  -- Null: the code may stand in the link to any offering.
  offering_no    INTEGER REFERENCES offerings (no),
  label          TEXT,
  clicks         INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  disabled_at    INTEGER
) STRICT;

CREATE INDEX referral_codes_application ON referral_codes (application_no, realm, no);

CREATE TABLE invite_links (
  no               INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  -- In the link, which every reading of it shows again.
  token            TEXT NOT NULL UNIQUE,
  application_no   INTEGER NOT NULL REFERENCES applications (no),
  offering_no      INTEGER NOT NULL REFERENCES offerings (no),
  -- As addressed; null for a recipient named by account, and for a reusable link.
  email            TEXT,
  recipient_no     INTEGER REFERENCES users (no),
  first_name       TEXT,
  last_name        TEXT,
  message          TEXT,
  allocation_cents INTEGER,
  max_uses         INTEGER,
  uses_count       INTEGER NOT NULL DEFAULT 0,
  created_at       INTEGER NOT NULL,
  revoked_at       INTEGER,
  opened_at        INTEGER,
  invested_at      INTEGER,
  investment_no    INTEGER REFERENCES investments (no),
  refusal          TEXT CHECK (refusal IN ('declined', 'spam'))
) STRICT;

CREATE INDEX invite_links_listing ON invite_links (application_no, offering_no, no);

CREATE TABLE invite_link_events (
  no             INTEGER PRIMARY KEY,
  invite_link_no INTEGER NOT NULL REFERENCES invite_links (no),
  event          TEXT NOT NULL,
  at             INTEGER NOT NULL
) STRICT;

CREATE INDEX invite_link_events_link ON invite_link_events (invite_link_no, no);

-- What brought a checkout about, and what its address said of campaigns.
CREATE TABLE session_sources (
  session_no     INTEGER PRIMARY KEY REFERENCES investment_sessions (no),
  referral_no    INTEGER REFERENCES referral_codes (no),
  invite_link_no INTEGER REFERENCES invite_links (no),
  clicked_at     INTEGER NOT NULL,
  utm_source     TEXT,
  utm_medium     TEXT,
  utm_campaign   TEXT,
  utm_content    TEXT,
  CHECK ((referral_no IS NULL) <> (invite_link_no IS NULL))
) STRICT;

CREATE INDEX session_sources_referral ON session_sources (referral_no);
CREATE INDEX session_sources_invite ON session_sources (invite_link_no);

CREATE TRIGGER users_deactivated_links AFTER UPDATE OF deactivated_at ON users WHEN new.deactivated_at IS NOT NULL
BEGIN
  UPDATE invite_links SET email = NULL, first_name = NULL, last_name = NULL, message = NULL, recipient_no = new.no,
    revoked_at = coalesce(revoked_at, new.deactivated_at)
    WHERE recipient_no = new.no OR lower(email) = lower(old.email);
END;
