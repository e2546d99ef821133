import type { Ask } from './snapshot.js';

/** What the mirror knows of one after-sync hook. */
export interface AfterSyncStatus {
  readonly hook: string;
  /** Changes up to this number were reported by a successful run; null before the hook's daemon first started. */
  readonly done_seq: number | null;
  /** Whether a run is under way or waits for its next attempt. */
  readonly pending: boolean;
  /** Failed attempts of that run. */
  readonly attempts: number;
  readonly next_at: string | null;
  readonly ran_at: string | null;
  readonly succeeded_at: string | null;
  /** Why the last run failed; null when it succeeded. */
  readonly last_error: string | null;
}

/** `configured`: the hooks of the configuration; without it, all that the mirror knows. */
export async function readAfterSync(
  ask: Ask,
  configured: readonly string[] | undefined,
): Promise<readonly AfterSyncStatus[]> {
  const rows = await ask<Omit<AfterSyncStatus, 'pending'> & { readonly last_seq: number | null }>`
    SELECT hook, done_seq, last_seq, attempts, next_at, ran_at, succeeded_at, last_error
    FROM after_sync_rows ORDER BY hook`;
  const known = rows.map(({ last_seq, ...row }) => ({ ...row, pending: last_seq !== null }));
  if (configured === undefined) return known;
  return configured.map((hook) => known.find((one) => one.hook === hook) ?? notSeen(hook));
}

const notSeen = (hook: string): AfterSyncStatus => ({
  hook,
  done_seq: null,
  pending: false,
  attempts: 0,
  next_at: null,
  ran_at: null,
  succeeded_at: null,
  last_error: null,
});
