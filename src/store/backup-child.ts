import { childFailed } from '../runtime/child-failed.js';
import { systemClock } from '../runtime/clock.js';
import { endWithParent } from '../runtime/own-child.js';
import type { BackupReply, BackupRequest } from './backup-messages.js';
import { backUpSqlite } from './dialect/sqlite/backup.js';

// The child process that copies and checks the file: see back-up-apart.ts.

endWithParent();
process.once('message', async (request: BackupRequest) => {
  const reply = await replyTo(request);
  process.send?.(reply, () => process.disconnect());
});

async function replyTo({ file, target, now, version }: BackupRequest): Promise<BackupReply> {
  const begun = systemClock.monotonic();
  const clock = { ...systemClock, now: () => now + Math.round(systemClock.monotonic() - begun) };
  const onShare = (share: number) => process.send?.({ kind: 'share', share } satisfies BackupReply);
  // The parent kills this process to stop it.
  const { signal } = new AbortController();
  try {
    const parts = { clock, version, env: process.env, signal, onShare };
    return { kind: 'done', made: await backUpSqlite(file, target, parts) };
  } catch (error) {
    return childFailed(error, 'the backup failed unexpectedly');
  }
}
