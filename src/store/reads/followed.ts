import type { Ask } from './snapshot.js';

/** What the registry stores of a source that a follow rule created. */
export interface Followed {
  readonly source: string;
  readonly rule: string;
  readonly target: string;
  readonly installation: string;
  readonly state: 'waiting' | 'connected' | 'disconnected' | 'erased';
  readonly reason: string | null;
  readonly disconnected_at: string | null;
  readonly erase_after: string | null;
  readonly erased_at: string | null;
  readonly erased_rows: number | null;
}

/** Returns the followed sources of the registry by name. The one place that reads it for status and lists. */
export async function readFollowed(ask: Ask): Promise<ReadonlyMap<string, Followed>> {
  const rows = await ask<Followed>`
    SELECT source, rule, target, installation, state, reason, disconnected_at, erase_after, erased_at, erased_rows
    FROM followed_sources`;
  return new Map(rows.map((row) => [row.source, row]));
}
