/** Returns the command that lists the unreadable records of a source. */
export const quarantineQuery = (source: string): string =>
  `rosterd query "SELECT id, problem, seen_at FROM quarantine WHERE source = '${source}' AND resolved_at IS NULL"`;
