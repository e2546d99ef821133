import { systemClock } from '../../../runtime/clock.js';
import { Interrupter } from '../../../runtime/interruption.js';
import { endWithParent } from '../../../runtime/own-child.js';
import { failureOf } from './child-failure.js';
import { connectSqlite } from './connect.js';
import { countListing, type Turn } from './count-listing.js';
import type { ListingOrder, ListingReply, ListingRequest } from './listing-messages.js';
import { performListingTask } from './listing-work.js';
import { turnLockWaitMillis } from './retry-busy.js';

// The child process that prepares the publication of a large listing: see listing-process.ts.

/** Leaves the write lock to other programs, which look for it now and then while they wait. */
const pauseMillis = 5;

/** Reading waits for nothing but the repair of a log. */
const readWaitMillis = 10 * 60_000;

endWithParent();

let go: () => void = () => {};
const stopping = new Interrupter();

process.on('message', async (order: ListingOrder) => {
  if (order.kind === 'go') go();
  else if (order.kind === 'stop') stopping.abort();
  else reply(await resultOf(order));
});

function reply(message: ListingReply): void {
  process.send?.(message);
}

/** The writers of the parent wait for a commit without blocking its event loop, because it gives the turns. */
const turn: Turn = async (commit) => {
  await new Promise<void>((resolve) => {
    go = resolve;
    reply({ kind: 'asks' });
  });
  try {
    return commit();
  } finally {
    reply({ kind: 'wrote' });
    await systemClock.wait(pauseMillis);
  }
};

async function resultOf({ file, task }: ListingRequest): Promise<ListingReply> {
  try {
    const readonly = task.kind === 'check' || task.kind === 'unseen';
    const database = connectSqlite(file, {
      readonly,
      mustExist: true,
      busyTimeoutMs: readonly ? readWaitMillis : turnLockWaitMillis,
    });
    try {
      const result =
        task.kind === 'count'
          ? await countListing(database.raw, task, turn, systemClock, stopping)
          : performListingTask(database.raw, task);
      return { kind: 'done', result };
    } finally {
      database.close();
    }
  } catch (error) {
    return { kind: 'failed', failure: failureOf(error) };
  }
}
