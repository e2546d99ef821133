import { existsSync, openSync } from 'node:fs';
import { childFailed } from '../runtime/child-failed.js';
import { systemClock } from '../runtime/clock.js';
import { endWithParent } from '../runtime/own-child.js';
import { connectSqlite, type SqliteConnection } from './dialect/sqlite/connect.js';
import { scrub, scrubInPlace } from './dialect/sqlite/scrub.js';
import type { Scrubbed } from './erasures.js';
import type { ScrubReply, ScrubRequest } from './scrub-messages.js';

// The child process that scrubs the file: see scrub.ts.

/** A page of the dashboard reads for less; writers of other processes wait longer. */
const logWaitMillis = 1_500;
const logPauseMillis = 20;

endWithParent();
process.once('message', async (request: ScrubRequest) => {
  const reply = await replyTo(request);
  process.send?.(reply, () => process.disconnect());
});

async function replyTo(request: ScrubRequest): Promise<ScrubReply> {
  const { file, now, rewritten, way } = request;
  const begun = systemClock.monotonic();
  const clock = { ...systemClock, now: () => now + Math.round(systemClock.monotonic() - begun) };
  try {
    // Before the connection, so that both are of the same file even if another one is moved to its place.
    const descriptor = existsSync(file) ? openSync(file, 'r+') : null;
    const database = connectSqlite(file, { mustExist: true });
    try {
      if (way === 'in place' && descriptor !== null)
        return { kind: 'done', scrubbed: await inPlace(database, descriptor, clock, rewritten) };
      // The copy is as large as the database, so it goes to disk. SQLite unlinks the temporary file when it opens it.
      database.raw.pragma('temp_store = FILE');
      return { kind: 'done', scrubbed: scrub(database, clock, { rewritten, logWaitMillis }) };
    } finally {
      database.close();
    }
  } catch (error) {
    return childFailed(error, 'the scrub failed unexpectedly');
  }
}

/** The descriptor stays open until the process ends: closing it would drop the locks of both connections. */
async function inPlace(
  database: SqliteConnection,
  descriptor: number,
  clock: typeof systemClock,
  rewritten: number,
): Promise<Scrubbed | null> {
  const second = connectSqlite(database.file, { mustExist: true });
  const patience = () => {
    const until = clock.monotonic() + logWaitMillis;
    return async () => {
      await clock.wait(logPauseMillis);
      return clock.monotonic() < until;
    };
  };
  try {
    return await scrubInPlace(database, clock, { rewritten, descriptor, second: second.raw, patience });
  } finally {
    second.close();
  }
}
