-- Syndicates as their members see them, who belongs to them, and the links by which people come in.
-- What a syndicate or a member has raised or invested stands nowhere here: it is read from the investments.

ALTER TABLE syndicates ADD COLUMN tagline TEXT;
ALTER TABLE syndicates ADD COLUMN description TEXT;
ALTER TABLE syndicates ADD COLUMN avatar_url TEXT;
ALTER TABLE syndicates ADD COLUMN published INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN launched INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN membership_open INTEGER NOT NULL DEFAULT 0;
-- Null: deal by deal.
ALTER TABLE syndicates ADD COLUMN syndicate_type TEXT
  CHECK (syndicate_type IN ('annual_subscription', 'traditional_fund'));
ALTER TABLE syndicates ADD COLUMN auto_accept_accredited_members INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN auto_approve_join_sessions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN fund_required INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN fund_investment_cents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN deals_per_year INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN deal_cents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN require_minimum_investment INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN minimum_investment_cents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE syndicates ADD COLUMN primary_fund_company_no INTEGER REFERENCES companies (no);
ALTER TABLE syndicates ADD COLUMN updated_at INTEGER;
-- A deleted draft stays for the rows that point at it; nobody is shown it.
ALTER TABLE syndicates ADD COLUMN deleted_at INTEGER;

-- What people tell about themselves to the syndicates they belong to.
CREATE TABLE member_profiles (
  user_no           INTEGER PRIMARY KEY REFERENCES users (no),
  linkedin_url      TEXT,
  twitter_url       TEXT,
  website           TEXT,
  avatar_url        TEXT,
  hide_location     INTEGER NOT NULL DEFAULT 0,
  interests         TEXT NOT NULL DEFAULT '[]',
  stage_preferences TEXT NOT NULL DEFAULT '[]',
  looking_for       TEXT NOT NULL DEFAULT '[]',
  last_login_at     INTEGER
) STRICT;

-- Who runs the syndicate, and with which permission, stands in syndicate_managers and nowhere else: the roles
-- `creator` and `manager` are read from there.
CREATE TABLE syndicate_members (
  no                                 INTEGER PRIMARY KEY,
  id                                 TEXT NOT NULL UNIQUE,
  syndicate_no                       INTEGER NOT NULL REFERENCES syndicates (no),
  -- Null for an invitee: the address may have no account.
  user_no                            INTEGER REFERENCES users (no),
  -- The last three are gone from every listing and come back only by a new invitation or application.
  standing                           TEXT NOT NULL CHECK (standing IN
    ('member', 'invitee', 'applicant', 'exiled', 'resigned', 'removed', 'declined', 'withdrawn')),
  -- An open invitation: to whom, by which link, and what it makes of them.
  invited_email                      TEXT,
  invited_name                       TEXT,
  invited_permission                 TEXT CHECK (invited_permission IN ('full_access', 'operator')),
  invite_token                       TEXT UNIQUE,
  -- They asked to belong, or belonged: only then can a restoration make them a member.
  consented                          INTEGER NOT NULL DEFAULT 0,
  title                              TEXT,
  sort_order                         INTEGER NOT NULL DEFAULT 0,
  carry_percentage_override          INTEGER CHECK (carry_percentage_override BETWEEN 1 AND 100),
  carry_discount_percentage          REAL NOT NULL DEFAULT 0,
  management_fee_discount_percentage REAL NOT NULL DEFAULT 0,
  public_on_syndicate_profile        INTEGER NOT NULL DEFAULT 1,
  tags                               TEXT NOT NULL DEFAULT '[]',
  private_tags                       TEXT NOT NULL DEFAULT '[]',
  starred                            INTEGER NOT NULL DEFAULT 0,
  created_at                         INTEGER NOT NULL,
  updated_at                         INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX syndicate_members_user ON syndicate_members (syndicate_no, user_no) WHERE user_no IS NOT NULL;
CREATE INDEX syndicate_members_order ON syndicate_members (syndicate_no, sort_order, no);
CREATE INDEX syndicate_members_of_user ON syndicate_members (user_no);

-- One line per thing done in a syndicate; what is counted as its recent activity.
CREATE TABLE syndicate_activity (
  no           INTEGER PRIMARY KEY,
  syndicate_no INTEGER NOT NULL REFERENCES syndicates (no),
  action       TEXT NOT NULL,
  member_no    INTEGER REFERENCES syndicate_members (no),
  -- Null when an installation or the platform itself acted.
  actor_no     INTEGER REFERENCES users (no),
  at           INTEGER NOT NULL
) STRICT;

CREATE INDEX syndicate_activity_at ON syndicate_activity (syndicate_no, at);

CREATE TABLE join_sessions (
  no              INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  -- In the link. It opens a page that asks who is there; it is no credential.
  token           TEXT NOT NULL UNIQUE,
  syndicate_no    INTEGER NOT NULL REFERENCES syndicates (no),
  installation_no INTEGER NOT NULL REFERENCES installations (no),
  email           TEXT NOT NULL,
  name            TEXT,
  success_url     TEXT,
  metadata        TEXT,
  status          TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed', 'expired', 'canceled')),
  member_no       INTEGER REFERENCES syndicate_members (no),
  created_at      INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX join_sessions_installation ON join_sessions (installation_no, no);
CREATE INDEX join_sessions_open ON join_sessions (expires_at) WHERE status IN ('pending', 'in_progress');

-- A deal is an offering that a syndicate runs; here stands what only a deal has.
CREATE TABLE deal_terms (
  offering_no          INTEGER PRIMARY KEY REFERENCES offerings (no),
  name                 TEXT,
  description          TEXT,
  funding_target_cents INTEGER,
  min_investment_cents INTEGER,
  max_investment_cents INTEGER,
  updated_at           INTEGER NOT NULL
) STRICT;

CREATE INDEX offerings_syndicate ON offerings (syndicate_no) WHERE syndicate_no IS NOT NULL;

-- The money of syndicates: binding commitments as published, so that every surface tells the same amounts.
CREATE VIEW syndicate_investments AS
SELECT o.syndicate_no, p.offering_no, p.investment_no, p.investor_no, p.committed_cents, p.raised_cents
FROM publications p JOIN offerings o ON o.no = p.offering_no
WHERE p.visible = 1 AND p.status <> 'reserved' AND o.syndicate_no IS NOT NULL;

-- An account that is closed takes along what it told syndicates.
CREATE TRIGGER users_deactivated AFTER UPDATE OF deactivated_at ON users WHEN new.deactivated_at IS NOT NULL
BEGIN
  DELETE FROM member_profiles WHERE user_no = new.no;
  UPDATE syndicate_members SET invited_email = NULL, invited_name = NULL, invite_token = NULL,
    standing = CASE standing WHEN 'invitee' THEN 'declined' ELSE standing END
    WHERE user_no = new.no OR lower(invited_email) = lower(old.email);
  UPDATE join_sessions SET email = new.email, name = NULL, metadata = NULL,
    status = CASE WHEN status IN ('pending', 'in_progress') THEN 'canceled' ELSE status END
    WHERE lower(email) = lower(old.email);
END;
