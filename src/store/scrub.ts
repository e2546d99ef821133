import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { endedWithoutAnswer } from '../runtime/file-descriptors.js';
import { startOwnProcess } from '../runtime/own-process.js';
import type { Scrubbed } from './erasures.js';
import type { ScrubReply, ScrubRequest } from './scrub-messages.js';

/**
 * Scrubs in a process of its own. Rewriting a gigabyte takes ten seconds and more, SQLite gives no control back
 * meanwhile, and a daemon that does not answer loses deliveries. A process rather than a thread, because it can
 * be killed at any moment: its transaction is then undone by whoever opens the file next, and asked for again.
 *
 * Throws `database_unusable`, `database_full`, and `stopped` when `signal` fires.
 */
export async function scrubApart(request: ScrubRequest, signal: AbortSignal): Promise<Scrubbed> {
  // SQLite's temporary copy belongs beside the database, on a disk that is meant to hold it.
  const env = { ...process.env, SQLITE_TMPDIR: dirname(request.file) };
  const child = startOwnProcess(import.meta.url, 'scrub-child', { env });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const reply = await new Promise<ScrubReply | null>((resolve) => {
      let answered: ScrubReply | null = null;
      child.once('message', (message) => {
        answered = message as ScrubReply;
      });
      child.once('error', () => resolve(null));
      child.once('exit', () => resolve(answered));
      child.send(request, () => {});
    });
    if (reply?.kind === 'done') return reply.scrubbed;
    if (signal.aborted) throw new Fault('stopped', 'the scrub was stopped before its end');
    if (reply === null) throw endedWithoutAnswer('the process that scrubs');
    throw new Fault(reply.code, reply.message, reply.hint === null ? {} : { hint: reply.hint });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}
