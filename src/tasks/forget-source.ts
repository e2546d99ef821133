import type { Config } from '../config/config.js';
import { isTokenUsed, tokenEntry } from '../daemon/followed-source.js';
import type { OpenMirror } from '../daemon/mirror-parts.js';
import { Fault, isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { FollowedSource } from '../installations/ports.js';
import { openVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import { afterErasing, type ErasedReceipt, retriedWhileBusy, withMirror } from './erasure-steps.js';

/** What was erased of a source. It has ids and counts, no name. */
export interface ForgetSourceReceipt extends ErasedReceipt {
  readonly source: string;
  readonly target: string | null;
  readonly rule: string | null;
  readonly forgotten_at: Instant;
  /** Rows of every kind that were deleted, without those of attempts that were interrupted. */
  readonly erased_rows: number;
  readonly erased_at: Instant;
  /** Whether a follow rule leaves it out from now on. */
  readonly stays_forgotten: boolean;
}

/** How long a running daemon may take to notice that it lost the source, and to finish the page it is writing. */
const leaseMillisMax = 30_000;
const leaseRetryMillis = 500;

/** Throws `usage` for a source that the configuration lists: the daemon would list it again. */
export function refuseListed({ sources }: Pick<Config, 'sources'>, name: string): void {
  if (!sources.some((source) => source.name === name)) return;
  throw new Fault('usage', `${name} is listed in the configuration, so it would be listed again`, {
    hint: `delete it from "sources" in config.json, reload a running daemon (SIGHUP), then: rosterd sources forget ${name}`,
  });
}

/**
 * Stops a source and erases everything stored of it. A followed source is recorded as forgotten first, so that a running
 * daemon stops it and no listing of installations brings it back. May be repeated after a crash.
 * Throws `lease_lost` when another process keeps the source for longer than half a minute: the record stays, and a daemon
 * that follows the rule finishes the erasure.
 */
export async function forgetSource(
  config: Config,
  name: SourceName,
  clock: Clock,
  signal: AbortSignal,
): Promise<ForgetSourceReceipt> {
  refuseListed(config, name);
  return await withMirror(config, clock, signal, async (mirror) => {
    const forgottenAt = instantFromMillis(clock.now());
    const followed = (await mirror.followed.list()).find(({ source }) => source === name);
    const recorded = followed === undefined ? null : await recordForgotten(mirror, followed, forgottenAt);
    const rows = await eraseWhenFree(mirror, name, clock, signal);
    const erasedAt = instantFromMillis(clock.now());
    const total = recorded === null ? rows : await recordErased(mirror, recorded, rows, erasedAt);
    await mirror.pauses.resume([name]);
    // A vault that is away keeps no name in exports, the lake and the bytes.
    const [token] = await Promise.allSettled([removeToken(config, followed, mirror, clock)]);
    const receipt = await afterErasing(config, mirror, clock, signal);
    if (token.status === 'rejected') throw token.reason;
    return {
      source: name,
      target: followed?.target ?? null,
      rule: followed?.rule ?? null,
      forgotten_at: requestedBefore(followed) ?? forgottenAt,
      erased_rows: total,
      erased_at: erasedAt,
      stays_forgotten: followed !== undefined,
      ...receipt,
    };
  });
}

/** Returns when an earlier request forgot the source: before that, the platform may have disconnected it. */
function requestedBefore(followed: FollowedSource | undefined): Instant | null {
  if (followed?.reason !== 'forgotten') return null;
  return followed.eraseAfter ?? followed.disconnectedAt;
}

/** The installation may still be active, so its token would still work. Another source may use it. */
async function removeToken(
  config: Config,
  followed: FollowedSource | undefined,
  mirror: OpenMirror,
  clock: Clock,
): Promise<void> {
  if (followed === undefined || isTokenUsed(followed, await mirror.followed.list())) return;
  const vault = openVault(config, { clock });
  try {
    await vault.remove(tokenEntry(followed));
  } catch (error) {
    if (!isFault(error)) throw error;
    throw new Fault(error.code, `${followed.source} is erased, but not its token: ${error.message}`, {
      ...error.about,
      cause: error,
    });
  } finally {
    await vault.close();
  }
}

/** Follows a forgotten source again: the daemon asks for a token, and lists it from its beginning. */
export async function followAgain(
  config: Config,
  name: SourceName,
  clock: Clock,
  signal: AbortSignal,
): Promise<FollowedSource> {
  return await withMirror(config, clock, signal, async (mirror) => {
    const before = (await mirror.followed.list()).find(({ source }) => source === name);
    if (before === undefined)
      throw new Fault('usage', `no follow rule created a source called ${JSON.stringify(name)}`, {
        hint: 'rosterd sources list',
      });
    if (before.reason !== 'forgotten')
      throw new Fault('usage', `${name} was not forgotten: it is ${before.state}`, {
        hint: `rosterd sources show ${name}`,
      });
    if (before.state !== 'erased')
      throw new Fault('usage', `the erasure of ${name} is not finished`, {
        hint: `rosterd sources forget ${name}, which finishes it`,
      });
    const next: FollowedSource = {
      ...before,
      state: 'waiting',
      reason: null,
      disconnectedAt: null,
      eraseAfter: null,
    };
    await saved(mirror, before, next);
    return next;
  });
}

async function recordForgotten(
  mirror: OpenMirror,
  before: FollowedSource,
  at: Instant,
): Promise<FollowedSource> {
  if (before.reason === 'forgotten') return before;
  const isErased = before.state === 'erased';
  const next: FollowedSource = {
    ...before,
    state: isErased ? 'erased' : 'disconnected',
    reason: 'forgotten',
    scopes: null,
    disconnectedAt: before.disconnectedAt ?? at,
    eraseAfter: isErased ? null : at,
  };
  await saved(mirror, before, next);
  return next;
}

/** Returns the rows that were erased in all. A daemon may have erased and recorded them meanwhile. */
async function recordErased(
  mirror: OpenMirror,
  before: FollowedSource,
  rows: number,
  erasedAt: Instant,
): Promise<number> {
  const erasedRows = (before.erasedRows ?? 0) + rows;
  const next: FollowedSource = { ...before, state: 'erased', eraseAfter: null, erasedAt, erasedRows };
  const lost = await mirror.followed.save([{ before, next }]);
  if (lost.length === 0) return erasedRows;
  const stored = (await mirror.followed.list()).find(({ source }) => source === before.source);
  return rows + (stored?.erasedRows ?? 0);
}

async function saved(mirror: OpenMirror, before: FollowedSource, next: FollowedSource): Promise<void> {
  const lost = await mirror.followed.save([{ before, next }]);
  if (lost.length > 0)
    throw new Fault('database_busy', `${before.source} changed at the same time`, {
      hint: 'the same command again',
    });
}

/** Erases once no other process holds the source. */
async function eraseWhenFree(
  mirror: OpenMirror,
  name: SourceName,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const deadline = clock.monotonic() + leaseMillisMax;
  for (;;) {
    try {
      return (await retriedWhileBusy(clock, signal, () => mirror.eraser.erase(name))).rows;
    } catch (error) {
      const waits = isFault(error, 'lease_lost') && clock.monotonic() < deadline && !signal.aborted;
      if (!waits) throw error;
      await clock.wait(leaseRetryMillis, signal);
    }
  }
}
