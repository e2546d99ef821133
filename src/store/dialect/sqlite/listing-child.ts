import { systemClock } from '../../../runtime/clock.js';
import { endWithParent } from '../../../runtime/own-child.js';
import { failureOf } from './child-failure.js';
import { connectSqlite } from './connect.js';
import type { ListingReply, ListingRequest } from './listing-messages.js';
import { performListingTask } from './listing-work.js';

// The child process that prepares the publication of a large listing: see listing-process.ts.

/** Leaves the write lock to the parent's commits, which block its event loop while they wait for it. */
const pauseMillis = 5;

/** Two of these processes prepare a first listing: one adds up while the other holds the lock to build an index. */
const lockWaitMillis = 10 * 60_000;

endWithParent();

process.on('message', async (request: ListingRequest) => {
  process.send?.(await replyTo(request));
});

async function replyTo({ file, task }: ListingRequest): Promise<ListingReply> {
  try {
    const database = connectSqlite(file, {
      readonly: task.kind === 'check' || task.kind === 'unseen',
      mustExist: true,
      busyTimeoutMs: lockWaitMillis,
    });
    try {
      const result = await performListingTask(database.raw, task, () => systemClock.wait(pauseMillis));
      return { kind: 'done', result };
    } finally {
      database.close();
    }
  } catch (error) {
    return { kind: 'failed', failure: failureOf(error) };
  }
}
