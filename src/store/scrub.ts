import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { faultOfChild } from '../runtime/child-failed.js';
import { lostProcess, startOwnProcess } from '../runtime/own-process.js';
import type { Scrubbed } from './erasures.js';
import type { ScrubReply, ScrubRequest } from './scrub-messages.js';

/**
 * Scrubs a SQLite file in a child process. A large file takes seconds, and a daemon whose event loop is blocked loses
 * deliveries. It is a process and not a thread so that it can be killed at any moment. The next process that opens the file
 * then rolls back the transaction, and the scrub can run again.
 *
 * Returns null if the file cannot be scrubbed in place. Throws `database_unusable`, `database_full`, and `stopped` when
 * `signal` fires.
 */
export async function scrubApart(request: ScrubRequest, signal: AbortSignal): Promise<Scrubbed | null> {
  // SQLite puts its temporary copy beside the database, on the disk sized for it.
  const env = { ...process.env, SQLITE_TMPDIR: dirname(request.file) };
  const child = startOwnProcess(import.meta.url, 'scrub-child', { env });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const reply = await new Promise<ScrubReply | null>((resolve) => {
      let received: ScrubReply | null = null;
      child.once('message', (message) => {
        received = message as ScrubReply;
      });
      child.once('error', () => resolve(null));
      child.once('close', () => resolve(received));
      child.send(request, () => {});
    });
    if (reply?.kind === 'done') return reply.scrubbed;
    if (signal.aborted) throw new Fault('stopped', 'the scrub was stopped before it finished');
    if (reply === null) throw lostProcess('the scrub process', child);
    throw faultOfChild(reply);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}
