-- The read privileges of the two roles. Runs again after every migration, and when a role lacks feed_counter. To run it with psql, pass
-- -v schema=public -v identity=rosterd_identity.
--
-- rosterd_analyst reads the mirror without identity: no names, and no record or webhook bodies.
-- rosterd_identity reads the same plus identity. Neither role can write or log in: grant them to login roles.

GRANT USAGE ON SCHEMA :"schema" TO rosterd_analyst, rosterd_identity;
GRANT SELECT ON investments, investment_history, changes, incoming, awaiting_deletion, round_totals, daily_raised,
  investor_totals, companies, rounds, round_stats, company_updates, company_history, round_history, collections,
  sync_status, sources, ticks, drift, notices, erasures, migrations, fleet_members, fleet_sources,
  pauses, open_alerts, alert_rows, after_sync_rows, followed_sources, followed_revision,
  feed_counter
  TO rosterd_analyst, rosterd_identity;
GRANT SELECT (quarantine_no, source, id, problem, seen_at, resolved_at, times) ON quarantine TO rosterd_analyst;
GRANT SELECT (inbox_no, event_id, installation, event, source, investment, observed_at, test, received_at, state,
  attempts, next_at, worked_at) ON webhook_inbox TO rosterd_analyst;
GRANT SELECT ON identities, roster, quarantine, webhook_inbox, forgotten TO rosterd_identity;
