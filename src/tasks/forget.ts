import type { Config } from '../config/config.js';
import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import type { OpenMirror } from '../daemon/mirror-parts.js';
import { openMirror } from '../daemon/open-mirror.js';
import { Fault, isFault } from '../domain/fault.js';
import { parseId } from '../domain/ids.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import type { Awaitable, PersonOrInvestment } from '../store/erasures.js';

export interface ForgetReceipt {
  readonly id: string;
  /** Investments whose identity was held and is gone. */
  readonly identities: number;
  /** It was to stay forgotten before already. */
  readonly already: boolean;
  readonly invisible_at: Instant;
  /** `scrubbed`: no byte is left in the files of the database. The others: a running daemon finishes it. */
  readonly bytes: 'scrubbed' | 'blocked' | 'no_room';
  readonly pending: number;
  readonly pending_since: Instant | null;
  /** Copies made before a schema migration, removed because they held everybody's identity. */
  readonly backups_removed: readonly string[];
}

/** Throws `usage` for what is no id, without repeating it: whoever is to be forgotten may have been named. */
export function personOrInvestment(text: string): PersonOrInvestment {
  const id = parseId('investment', text) ?? parseId('user', text);
  if (id !== undefined) return id;
  throw new Fault('usage', 'what was given is neither the id of an investment nor of an investor', {
    hint: 'give an id: inv_… for one investment, usr_… for everything of an investor',
  });
}

/**
 * Works beside a running daemon and without one. Written down outside the database first, so that no crash and no
 * old copy of it undoes what was asked; erased from sight next, in one transaction that also keeps the platform
 * from bringing the identity back; from the bytes right after, unless a reader is in the way.
 */
export async function forget(
  config: Config,
  id: PersonOrInvestment,
  clock: Clock,
  signal: AbortSignal,
): Promise<ForgetReceipt> {
  return withMirror(config, clock, signal, async ({ erasures, upkeep }, ledger) => {
    const { identities, already, invisibleAt } = await inItsTurn(clock, signal, () =>
      erasures.forget(id, (since) => ledger.add([{ ...since, event: 'forgotten' }])),
    );
    const backups = upkeep.removeBackups(Number.POSITIVE_INFINITY);
    const scrubbed = await upkeep.scrub(0, signal);
    const { receipts, since } = await erasures.pending();
    return {
      ...{ id, identities, already, invisible_at: invisibleAt },
      // Whoever was in the way may have been rewriting the file themselves, and ours with theirs.
      bytes: scrubbed.kind === 'clean' || receipts === 0 ? 'scrubbed' : scrubbed.kind,
      ...{ pending: receipts, pending_since: since, backups_removed: backups },
    };
  });
}

/** Lets identity of the id be stored again; false when it was not forgotten. */
export function liftForgotten(
  config: Config,
  id: PersonOrInvestment,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  return withMirror(config, clock, signal, async ({ erasures }, ledger) => {
    const lifted = await inItsTurn(clock, signal, () => erasures.lift(id));
    if (lifted) ledger.add([{ id, event: 'lifted', at: instantFromMillis(clock.now()) }]);
    return lifted;
  });
}

async function withMirror<Result>(
  { database, identity, forget: { ledger: ledgerFile } }: Config,
  clock: Clock,
  signal: AbortSignal,
  work: (mirror: OpenMirror, ledger: ForgottenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = new ForgottenLedger(ledgerFile);
  // A command that erases does not create what it should look into.
  const parts = { clock, identity, ledger, logger: silentLogger, existing: true };
  const mirror = await inItsTurn(clock, signal, () => openMirror(database, parts));
  try {
    return await work(mirror, ledger);
  } finally {
    await mirror.close();
  }
}

/** A page, a publication or a scrub of another process is over by then, except in the very largest mirrors. */
const patienceMillis = 30_000;
const againMillis = 200;

/** Tries again while another process writes: whoever asks to be forgotten should not have to ask twice. */
async function inItsTurn<Result>(
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Awaitable<Result>,
): Promise<Result> {
  const until = clock.monotonic() + patienceMillis;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isFault(error, 'database_busy') || signal.aborted || clock.monotonic() >= until) throw error;
    }
    await clock.wait(againMillis, signal);
  }
}
