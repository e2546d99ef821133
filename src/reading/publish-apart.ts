import { Fault } from '../domain/fault.js';
import { faultOfChild } from '../runtime/child-failed.js';
import type { Clock } from '../runtime/clock.js';
import { lostProcess, startOwnProcess } from '../runtime/own-process.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { mirrorName } from './exports-folder.js';
import { publish } from './publish-job.js';
import type { Published, PublishJob, PublishReply, PublishRequest } from './publish-messages.js';
import { removeUnfinishedExports } from './remove-exports.js';

/**
 * Writes exports or a lake without blocking the event loop: a file is read in a child process, which can be killed at
 * any moment. Throws what `publish` throws.
 */
export async function publishApart(
  location: DatabaseLocation,
  job: PublishJob,
  clock: Clock,
  signal: AbortSignal,
): Promise<Published> {
  const { file } = dialectFor(location);
  if (file === null) return await publish(location, job, clock, signal);
  return await inChild({ file, job, now: clock.now() }, signal);
}

async function inChild(request: PublishRequest, signal: AbortSignal): Promise<Published> {
  const child = startOwnProcess(import.meta.url, 'publish-child');
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const reply = await new Promise<PublishReply | null>((resolve) => {
      let received: PublishReply | null = null;
      child.on('message', (message) => {
        received = message as PublishReply;
      });
      child.once('error', () => resolve(null));
      child.once('close', () => resolve(received));
      child.send(request, () => {});
    });
    if (reply === null && request.job.kind === 'exports')
      await removeLeftover(request, request.job.ask.folder);
    if (signal.aborted) throw new Fault('stopped', 'stopped before all files were written');
    if (reply === null) throw lostProcess('the process that writes the files', child);
    if (reply.kind !== 'failed') return reply;
    throw faultOfChild(reply);
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** Deletes what the killed process had written: it may contain names. */
async function removeLeftover({ file }: PublishRequest, folder: string): Promise<void> {
  await removeUnfinishedExports(folder, mirrorName({ kind: 'sqlite', file }));
}
