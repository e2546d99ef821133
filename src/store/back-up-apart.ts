import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { faultOfChild } from '../runtime/child-failed.js';
import { lostProcess, startOwnProcess } from '../runtime/own-process.js';
import type { BackupMade, BackupParts } from './backup/made.js';
import { removeUnfinished } from './backup/private-target.js';
import type { BackupReply, BackupRequest } from './backup-messages.js';
import type { DatabaseLocation } from './database-location.js';
import { dialectFor } from './dialect/dialect-for.js';

/**
 * Writes a backup without blocking the event loop: a file is copied and checked in a child process, which can be killed
 * at any moment. Throws as `backUp` of the dialect does.
 */
export async function backUpApart(
  location: DatabaseLocation,
  target: string,
  parts: BackupParts,
): Promise<BackupMade> {
  const dialect = dialectFor(location);
  if (dialect.file === null) return await dialect.backUp(target, parts);
  const { clock, version } = parts;
  return await inChild({ file: dialect.file, target, now: clock.now(), version }, parts);
}

async function inChild(
  request: BackupRequest,
  { signal, onShare }: Pick<BackupParts, 'signal' | 'onShare'>,
): Promise<BackupMade> {
  // SQLite puts temporary copies on the disk of the backup.
  const env = { ...process.env, SQLITE_TMPDIR: dirname(request.target) };
  const child = startOwnProcess(import.meta.url, 'backup-child', { env });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const reply = await new Promise<BackupReply | null>((resolve) => {
      let received: BackupReply | null = null;
      child.on('message', (message) => {
        received = message as BackupReply;
        if (received.kind === 'share') onShare?.(received.share);
      });
      child.once('error', () => resolve(null));
      child.once('close', () => resolve(received));
      child.send(request, () => {});
    });
    if (reply?.kind === 'done') return reply.made;
    if (child.pid !== undefined) removeUnfinished(request.target, child.pid);
    if (signal.aborted) throw new Fault('stopped', 'the backup was stopped before it was complete');
    if (reply?.kind !== 'failed') throw lostProcess('the backup process', child);
    throw faultOfChild(reply);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}
