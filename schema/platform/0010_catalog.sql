-- What companies show of themselves and of their rounds. A company or an offering without a row here is one that
-- nobody has filled in or approved yet. How much was raised is never stored: it is summed from the publications.

CREATE TABLE company_profiles (
  company_no           INTEGER PRIMARY KEY REFERENCES companies (no),
  audience             TEXT NOT NULL DEFAULT 'everyone' CHECK (audience IN ('everyone', 'accredited', 'vault')),
  -- Null: the platform has not approved the page; only its team and its investors see it.
  approved_at          INTEGER,
  hidden               INTEGER NOT NULL DEFAULT 0,
  logo_url             TEXT,
  card_image_url       TEXT,
  city                 TEXT,
  state                TEXT,
  country              TEXT,
  industries           TEXT NOT NULL DEFAULT '[]',
  business_models      TEXT NOT NULL DEFAULT '[]',
  -- The ticker on the page adds earlier rounds to the current one.
  ticker_includes_past INTEGER NOT NULL DEFAULT 1,
  -- 0: left out where people's follows are shown to others.
  promotion_opt_in     INTEGER NOT NULL DEFAULT 1,
  questions_closed     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE offering_terms (
  offering_no              INTEGER PRIMARY KEY REFERENCES offerings (no),
  exemption                TEXT NOT NULL CHECK (exemption IN ('reg_cf', 'reg_d', 'reg_a', 'reg_s', 'ecsp')),
  exemption_subtype        TEXT CHECK (exemption_subtype IN ('506b', '506c')),
  security_type            TEXT CHECK (security_type IN
    ('safe', 'equity', 'convertible_note', 'revenue_share', 'debt', 'fund', 'other')),
  -- JSON of the shape its security has; money in it is integer cents.
  security_terms           TEXT NOT NULL DEFAULT '{}',
  intended_security_type   TEXT,
  funding_target_cents     INTEGER,
  max_funding_target_cents INTEGER,
  min_investment_cents     INTEGER,
  form_c_url               TEXT,
  spv_legal_name           TEXT,
  CHECK (exemption_subtype IS NULL OR exemption = 'reg_d')
) STRICT;

-- A private round is shown to those it was offered to.
CREATE TABLE offering_invitations (
  offering_no INTEGER NOT NULL REFERENCES offerings (no),
  user_no     INTEGER NOT NULL REFERENCES users (no),
  PRIMARY KEY (offering_no, user_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX offering_invitations_user ON offering_invitations (user_no);

CREATE TABLE vault_members (
  user_no INTEGER PRIMARY KEY REFERENCES users (no)
) STRICT;

-- Rounds raised elsewhere, as the company tells.
CREATE TABLE reported_rounds (
  no             INTEGER PRIMARY KEY,
  company_no     INTEGER NOT NULL REFERENCES companies (no),
  exemption      TEXT NOT NULL CHECK (exemption IN ('reg_cf', 'reg_d', 'reg_a', 'reg_s', 'ecsp', 'other')),
  amount_cents   INTEGER NOT NULL,
  investor_count INTEGER,
  opened_at      INTEGER,
  closed_at      INTEGER
) STRICT;
CREATE INDEX reported_rounds_company ON reported_rounds (company_no);

-- Covers the three numbers a page shows of a round.
CREATE INDEX publications_backers
  ON publications (offering_no, investor_no, status, raised_cents, committed_cents) WHERE visible = 1;

-- One Form C. `sections` is JSON, a key per section; `hidden` lists those the company does not show.
CREATE TABLE disclosures (
  offering_no         INTEGER PRIMARY KEY REFERENCES offerings (no),
  financials_currency TEXT NOT NULL,
  filed               INTEGER NOT NULL,
  sec_filing_url      TEXT,
  statement_date      TEXT,
  fiscal_year_end     TEXT,
  sections            TEXT NOT NULL,
  hidden              TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE TABLE pitches (
  company_no            INTEGER PRIMARY KEY REFERENCES companies (no),
  title                 TEXT NOT NULL,
  authored_by           TEXT NOT NULL CHECK (authored_by IN ('company', 'wefunder')),
  disclaimer            TEXT,
  blocks                TEXT NOT NULL,
  inline_images_omitted INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE perks (
  offering_no INTEGER PRIMARY KEY REFERENCES offerings (no),
  -- JSON: [{qualifying_cents, description}]
  tiers       TEXT NOT NULL
) STRICT;

CREATE TABLE company_updates (
  no             INTEGER PRIMARY KEY,
  -- A share token: it stands in links.
  id             TEXT NOT NULL UNIQUE,
  company_no     INTEGER NOT NULL REFERENCES companies (no),
  kind           TEXT NOT NULL CHECK (kind IN ('update', 'note', 'spotlight', 'bounty')),
  title          TEXT,
  content        TEXT NOT NULL,
  -- Null: a draft.
  published_at   INTEGER,
  pinned         INTEGER NOT NULL DEFAULT 0,
  visibility     TEXT CHECK (visibility IN ('public', 'investors', 'community', 'founders', 'private')),
  author_name    TEXT,
  comments_count INTEGER NOT NULL DEFAULT 0,
  likes_count    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX company_updates_company ON company_updates (company_no);

-- Questions, and the answers below them.
CREATE TABLE comments (
  no             INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  company_no     INTEGER NOT NULL REFERENCES companies (no),
  question_no    INTEGER REFERENCES comments (no),
  author_no      INTEGER NOT NULL REFERENCES users (no),
  body           TEXT NOT NULL,
  disclosure_key TEXT CHECK (disclosure_key IN ('investor', 'stockholder', 'promoter', 'financial_stakeholder')),
  likes_count    INTEGER NOT NULL DEFAULT 0,
  highlighted    INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  deleted_at     INTEGER
) STRICT;
CREATE INDEX comments_company ON comments (company_no);
