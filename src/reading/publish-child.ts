import { childFailed } from '../runtime/child-failed.js';
import { systemClock } from '../runtime/clock.js';
import { endWithParent } from '../runtime/own-child.js';
import { publish } from './publish-job.js';
import type { PublishReply, PublishRequest } from './publish-messages.js';

// The child process that reads the file and writes exports and lakes: see publish-apart.ts.

endWithParent();
process.once('message', async (request: PublishRequest) => {
  const reply = await replyTo(request);
  process.send?.(reply, () => process.disconnect());
});

async function replyTo({ file, job, now }: PublishRequest): Promise<PublishReply> {
  const begun = systemClock.monotonic();
  const clock = { ...systemClock, now: () => now + Math.round(systemClock.monotonic() - begun) };
  // The parent kills this process to stop it.
  const { signal } = new AbortController();
  try {
    return await publish({ kind: 'sqlite', file }, job, clock, signal);
  } catch (error) {
    return childFailed(error, 'writing the files failed unexpectedly');
  }
}
