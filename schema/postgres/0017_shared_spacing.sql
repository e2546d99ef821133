-- The sources for which a member ticks because of webhooks, out of a quota that runs short. The other members space their
-- own ticks with them. Written with the heartbeat; names only, so that nothing here is derived from a token.
ALTER TABLE fleet_members ADD COLUMN spaced text[] COLLATE "C" NOT NULL DEFAULT '{}';
