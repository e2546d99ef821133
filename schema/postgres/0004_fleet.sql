-- Several daemons on one database. A member tells that it lives by `seen_at`, on the clock of this server and no
-- other: whoever was silent for too long holds nothing any more. Which member works a source is said here; that only
-- one writes it is kept by `leases` and their fences, whatever is said here.
CREATE TABLE fleet_members (
  -- As leases name their holders.
  member    text COLLATE "C" PRIMARY KEY,
  version   text COLLATE "C" NOT NULL,
  -- The sources of its configuration: what it can work.
  sources   text[] COLLATE "C" NOT NULL,
  joined_at text COLLATE "C" NOT NULL,
  seen_at   text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

-- By name, since a source is worked before it was ever opened.
CREATE TABLE fleet_sources (
  source text COLLATE "C" PRIMARY KEY,
  member text COLLATE "C" NOT NULL REFERENCES fleet_members (member) ON DELETE CASCADE,
  since  text COLLATE "C" NOT NULL
);

CREATE INDEX fleet_sources_member ON fleet_sources (member);

-- This server's time, so many milliseconds ago, as times are written everywhere here. Not that of the transaction:
-- whoever waited for a lock has waited.
CREATE FUNCTION fleet_clock(ago_millis bigint DEFAULT 0) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT to_char((clock_timestamp() - ago_millis * interval '1 millisecond') AT TIME ZONE 'UTC',
                 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') COLLATE "C"
$$;
