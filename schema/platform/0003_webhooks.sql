-- Webhook endpoints, their secrets, and every delivery with its attempts.

CREATE TABLE webhook_endpoints (
  no                   INTEGER PRIMARY KEY,
  id                   TEXT NOT NULL UNIQUE,
  application_no       INTEGER NOT NULL REFERENCES applications (no),
  -- Null: app-wide. Set: bound to that installation alone.
  installation_no      INTEGER REFERENCES installations (no),
  mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  url                  TEXT NOT NULL,
  enabled              INTEGER NOT NULL DEFAULT 1,
  failing_since        INTEGER,
  last_delivery_at     INTEGER,
  last_delivery_status TEXT,
  created_at           INTEGER NOT NULL,
  -- A removed endpoint stays for the sake of its deliveries' history and is found by nobody.
  removed_at           INTEGER
) STRICT;

CREATE INDEX webhook_endpoints_application ON webhook_endpoints (application_no) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX webhook_endpoints_bound ON webhook_endpoints (installation_no, url, mode)
  WHERE installation_no IS NOT NULL AND removed_at IS NULL;

-- One row per subscribed event: an emission asks by name. `position` keeps the order the caller gave.
CREATE TABLE webhook_subscriptions (
  event       TEXT NOT NULL,
  endpoint_no INTEGER NOT NULL REFERENCES webhook_endpoints (no),
  position    INTEGER NOT NULL,
  PRIMARY KEY (event, endpoint_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_subscriptions_endpoint ON webhook_subscriptions (endpoint_no, position);

-- Signing needs the key itself, so a digest would not do; and a key that decrypts it would stand beside this file
-- and be copied with it. Secrets stand readable, in a table of their own that no response is made from.
CREATE TABLE webhook_secrets (
  no          INTEGER PRIMARY KEY,
  endpoint_no INTEGER NOT NULL REFERENCES webhook_endpoints (no),
  secret      TEXT NOT NULL,
  -- Null: the current one. Set by a rotation: signs before that moment, not at it.
  ends_at     INTEGER
) STRICT;

CREATE INDEX webhook_secrets_endpoint ON webhook_secrets (endpoint_no);

CREATE TABLE webhook_deliveries (
  no              INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  endpoint_no     INTEGER NOT NULL REFERENCES webhook_endpoints (no),
  installation_no INTEGER NOT NULL REFERENCES installations (no),
  event_id        TEXT NOT NULL,
  event           TEXT NOT NULL,
  -- The exact bytes that are signed and sent, the same at every attempt.
  body            TEXT NOT NULL,
  state           TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead', 'canceled')),
  created_at      INTEGER NOT NULL,
  -- Creation or the last resend: what the 72 hours count from.
  window_from     INTEGER NOT NULL,
  -- Failed attempts since `window_from`; the place in the retry schedule.
  failures        INTEGER NOT NULL DEFAULT 0,
  next_at         INTEGER,
  -- Set while the delivery waits for another one of its endpoint to overtake it.
  held            INTEGER NOT NULL DEFAULT 0,
  settled_at      INTEGER,
  UNIQUE (event_id, endpoint_no, installation_no),
  CHECK ((state = 'pending') = (next_at IS NOT NULL)),
  CHECK ((state = 'pending') = (settled_at IS NULL))
) STRICT;

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_no, next_at, no) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (endpoint_no, no);
CREATE INDEX webhook_deliveries_installation ON webhook_deliveries (installation_no) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_held ON webhook_deliveries (endpoint_no) WHERE held = 1;
CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at) WHERE settled_at IS NOT NULL;

CREATE TABLE webhook_attempts (
  no          INTEGER PRIMARY KEY,
  delivery_no INTEGER NOT NULL REFERENCES webhook_deliveries (no) ON DELETE CASCADE,
  at          INTEGER NOT NULL,
  status      INTEGER,
  error       TEXT CHECK (error IN ('timeout', 'blocked_url', 'tls_error', 'connection_failed')),
  duration_ms INTEGER NOT NULL,
  -- The first bytes of what the receiver answered.
  response    TEXT NOT NULL,
  CHECK ((status IS NULL) = (error IS NOT NULL))
) STRICT;

CREATE INDEX webhook_attempts_delivery ON webhook_attempts (delivery_no);
