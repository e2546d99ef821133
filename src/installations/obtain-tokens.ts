import PQueue from 'p-queue';
import { isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { FollowedBook } from './followed-book.js';
import { mintWaitMillis } from './mint-spacing.js';
import { connected, mintCounted } from './plan-following.js';
import type { FollowedSource, InstallationsApi, TokenVault } from './ports.js';
import { tokenKey } from './token-key.js';
import { tokenUsers } from './token-users.js';

/*
 * How a waiting source gets its token:
 *
 *   try the vault → count the request in the database → ask the platform → store the token in the vault
 *     → store that it is connected
 *
 * A crash before the fourth step may leave a token that no process knows. The count says so, and the next request waits.
 * A crash before the last step leaves the token in the vault, where the next process finds it.
 */

export interface TokenParts {
  readonly book: FollowedBook;
  readonly vault: TokenVault;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TokensWished {
  readonly waiting: readonly FollowedSource[];
  /** Called for each of them whose entry in the vault cannot be read. */
  readonly onUnreadable: (source: SourceName) => void;
  readonly scopes: readonly string[];
  /** After a start, the vault may have the token of any waiting source. */
  readonly looksAtAll: boolean;
  /** Whether something else has come up, which goes first once some tokens were asked for. */
  readonly isInterrupted: () => boolean;
}

/** Requests at the same time. */
const atOnce = 4;
/** How long a source may wait for others whose tokens arrive meanwhile: each change of the set of sources costs work. */
const gatherMillis = 1_000;
/** With many sources a change takes longer, and the next one waits so many times as long. */
const gatherFactor = 10;

/**
 * Gives waiting sources their tokens, as far as they may be asked for now. Ends early when `isInterrupted`, after a few. Throws
 * the platform's refusal, after storing what was received beside it.
 */
export async function obtainTokens(
  parts: TokenParts,
  api: InstallationsApi,
  { waiting, onUnreadable, scopes, looksAtAll, isInterrupted }: TokensWished,
  signal: AbortSignal,
): Promise<void> {
  const isDue = (row: FollowedSource) => mintWaitMillis(row.mints, row.lastMintAt, parts.clock.now()) === 0;
  const others = await connectFound(parts, looksAtAll ? waiting : waiting.filter(isDue), onUnreadable);
  const due = others.filter(isDue);
  if (due.length > 0) await parts.vault.requireWritable();
  const queue = new PQueue({ concurrency: atOnce });
  const failures: unknown[] = [];
  const gathered = gatherConnected(parts);
  let asked = 0;
  for (const row of due)
    void queue.add(async () => {
      // Where events never stop, each turn still asks for some.
      if (failures.length > 0 || signal.aborted || (asked >= atOnce && isInterrupted())) return;
      asked += 1;
      try {
        const received = await obtainOne(parts, api, scopes, row, signal);
        if (received !== null) await gathered.add(received);
      } catch (error) {
        failures.push(error);
      }
    });
  await queue.onIdle();
  await gathered.end();
  if (failures.length > 0) throw failures[0];
}

async function obtainOne(
  parts: TokenParts,
  api: InstallationsApi,
  scopes: readonly string[],
  row: FollowedSource,
  signal: AbortSignal,
): Promise<Connected | null> {
  const [counted] = await parts.book.save([{ before: row, next: mintCounted(row, parts.clock.now()) }]);
  return counted === undefined ? null : await mintOne(parts, api, scopes, counted.next, signal);
}

/**
 * Connects sources in groups, so that ten thousand tokens do not change the set of sources ten thousand times. A token
 * that waits here is in the vault already, where the next process finds it.
 */
function gatherConnected(parts: TokenParts) {
  const { clock } = parts;
  let gathered: Connected[] = [];
  let nextAt = clock.monotonic() + gatherMillis;
  const flush = async () => {
    const some = gathered;
    gathered = [];
    const begunAt = clock.monotonic();
    await connect(parts, some);
    const endedAt = clock.monotonic();
    nextAt = endedAt + Math.max(gatherMillis, gatherFactor * (endedAt - begunAt));
  };
  return {
    add: async (one: Connected) => {
      gathered.push(one);
      if (clock.monotonic() >= nextAt) await flush();
    },
    end: flush,
  };
}

/** Connects the sources whose token is in the vault already. Returns the others. */
async function connectFound(
  parts: TokenParts,
  waiting: readonly FollowedSource[],
  onUnreadable: TokensWished['onUnreadable'],
): Promise<readonly FollowedSource[]> {
  const found: Connected[] = [];
  const others: FollowedSource[] = [];
  for (const row of waiting) {
    if (row.mints === 0) {
      others.push(row);
      continue;
    }
    try {
      if ((await parts.vault.read(tokenKey(row.installation))) === null) others.push(row);
      else found.push({ row, scopes: row.scopes });
    } catch (error) {
      // Not asked for again: the entry exists, and an operator can make it readable.
      parts.logger.warn({ source: row.source, error }, 'a token in the vault cannot be read');
      onUnreadable(row.source);
    }
  }
  await connect(parts, found);
  return others;
}

interface Connected {
  readonly row: FollowedSource;
  readonly scopes: readonly string[] | null;
}

/** Returns null when the installation is of no use: the next listing says why. */
async function mintOne(
  { vault, logger }: TokenParts,
  api: InstallationsApi,
  scopes: readonly string[],
  row: FollowedSource,
  signal: AbortSignal,
): Promise<Connected | null> {
  const fields = { source: row.source, installation: row.installation, count: row.mints };
  try {
    const minted = await api.mint(row.installation, scopes, signal);
    await vault.write(tokenKey(row.installation), minted.token);
    logger.info(fields, 'an installation got a token');
    return { row, scopes: minted.scopes };
  } catch (error) {
    // Refused for this installation alone: it was revoked meanwhile, or the account may not mint for it. Without the scope,
    // the account may mint for none.
    const isItsOwn =
      (isFault(error, 'refused') || isFault(error, 'forbidden')) && error.about.type !== 'insufficient_scope';
    if (!isItsOwn) throw error;
    logger.warn({ ...fields, error }, 'the platform gave an installation no token; asked again later');
    return null;
  }
}

/** Removes the tokens of rows that another process ended or gave another installation meanwhile: it knew of none. */
async function connect({ book, clock, vault }: TokenParts, received: readonly Connected[]): Promise<void> {
  const saved = await book.save(
    received.map(({ row, scopes }) => ({ before: row, next: connected(row, scopes, clock.now()) })),
  );
  if (saved.length === received.length) return;
  const users = tokenUsers(book.rows());
  for (const { row } of received)
    if (!users.has(row.installation)) await vault.remove(tokenKey(row.installation));
}
