/** The public tables and views that a scheduled export may contain. `roster` and `identities` name people. */
export const exportTables = [
  'investments',
  'roster',
  'identities',
  'investment_history',
  'changes',
  'round_totals',
  'daily_raised',
  'investor_totals',
  'companies',
  'rounds',
  'round_stats',
  'company_updates',
  'company_history',
  'round_history',
] as const;
export type ExportTable = (typeof exportTables)[number];

export const tablesOfPeople: ReadonlySet<ExportTable> = new Set(['roster', 'identities']);

export const scheduledFormats = ['csv', 'jsonl', 'xlsx', 'parquet'] as const;
export type ScheduledFormat = (typeof scheduledFormats)[number];
