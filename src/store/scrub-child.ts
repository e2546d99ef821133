import { Fault } from '../domain/fault.js';
import { systemClock } from '../runtime/clock.js';
import { connectSqlite } from './dialect/sqlite/connect.js';
import { scrub } from './dialect/sqlite/scrub.js';
import type { ScrubReply, ScrubRequest } from './scrub-messages.js';

// The child process that rewrites the file: see scrub.ts.

/** A page of the dashboard reads for less; writers of other processes wait longer. */
const logWaitMillis = 1_500;

process.once('message', (request: ScrubRequest) => {
  const reply = replyTo(request);
  process.send?.(reply, () => process.disconnect());
});
process.on('disconnect', () => process.exit(0));

function replyTo({ file, now, rewritten }: ScrubRequest): ScrubReply {
  const begun = systemClock.monotonic();
  const clock = { ...systemClock, now: () => now + Math.round(systemClock.monotonic() - begun) };
  try {
    const database = connectSqlite(file, { mustExist: true });
    try {
      // The copy is as large as the database, so it goes to disk. SQLite unlinks the temporary file when it opens it.
      database.raw.pragma('temp_store = FILE');
      return { kind: 'done', scrubbed: scrub(database, clock, { rewritten, logWaitMillis }) };
    } finally {
      database.close();
    }
  } catch (error) {
    if (!(error instanceof Fault))
      return { kind: 'failed', code: 'internal', message: 'the scrub failed unexpectedly', hint: null };
    return { kind: 'failed', code: error.code, message: error.message, hint: error.about.hint ?? null };
  }
}
