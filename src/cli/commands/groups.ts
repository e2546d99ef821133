/** Help summary for the first word of two-word commands. */
export const groups: Readonly<Record<string, string>> = {
  sources: 'List, show, pause, resume and forget sources',
  endpoints: "Manage the platform's webhook endpoints",
  vault: 'Look after the secrets that rosterd keeps itself',
  lake: 'Keep Parquet files of the mirror for DuckDB, Spark and warehouses',
  service: 'Run rosterd as a system service',
  config: 'Check, show and describe the configuration',
};
