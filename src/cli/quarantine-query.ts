/** What to type to see the records of a source that could not be read. */
export const quarantineQuery = (source: string): string =>
  `rosterd query "SELECT id, problem, seen_at FROM quarantine WHERE source = '${source}' AND resolved_at IS NULL"`;
