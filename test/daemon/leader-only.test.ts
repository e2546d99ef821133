import { expect, test } from 'vitest';
import { maintenanceByLeader, outboxByLeader } from '../../src/daemon/leader-only.js';
import { scrubWords } from '../../src/daemon/scrub-words.js';
import { alone } from '../../src/fleet/membership.js';

const pending = { receipts: 3, since: null, residue: true, listing: false };

function work(leads: boolean) {
  const done: string[] = [];
  const seat = { ...alone, leads };
  const maintenance = maintenanceByLeader(
    {
      pending: () => pending,
      removeBackups: () => {},
      scrub: async () => ({ kind: 'clean' }),
      words: scrubWords.postgres,
      purge: async () => done.push('purged'),
      askPlatform: async () => void done.push('asked'),
    },
    seat,
  );
  const outbox = outboxByLeader(
    {
      waiting: async () => [{ target: 'slack', dueAt: '2026-05-01T00:00:00.000Z' as never }],
      dueFor: async () => [],
      about: async () => ({ triedAt: null, earlier: null }),
      putOff: async () => {},
      merge: async () => {},
      drop: async () => {},
      begin: async () => null,
      delivered: async (notice) => void done.push(`delivered ${notice}`),
      retryLater: async () => {},
      giveUp: async () => {},
    },
    seat,
  );
  return { maintenance, outbox, done };
}

test('the leader of a fleet runs the background jobs and sends notices', async () => {
  const { maintenance, outbox, done } = work(true);
  expect(await maintenance.pending()).toEqual(pending);
  await maintenance.askPlatform(new AbortController().signal);
  await maintenance.purge(0);
  expect(await outbox.waiting()).toHaveLength(1);
  expect(done).toEqual(['asked', 'purged']);
});

test('other members find nothing to do; a notice sent by a former leader is still acknowledged', async () => {
  const { maintenance, outbox, done } = work(false);
  expect(await maintenance.pending()).toMatchObject({ receipts: 0, residue: false });
  await maintenance.askPlatform(new AbortController().signal);
  expect(await maintenance.purge(0)).toBe(0);
  expect(await outbox.waiting()).toEqual([]);
  await outbox.delivered(7, '2026-05-01T00:00:00.000Z' as never);
  expect(done).toEqual(['delivered 7']);
});
