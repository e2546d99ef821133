import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openPostgresMirror } from '../../src/daemon/open-postgres-mirror.js';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { type AcceptedEvent, ownLane } from '../../src/inbox/ports.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { wayTo } from '../postgres/way-to.js';
import { tempFolder } from '../store/temp-folder.js';

const event = (eventId: string): AcceptedEvent => ({
  eventId: eventId as EventId,
  installation: 'inst_1',
  event: 'investment.changed',
  lane: ownLane('acme' as SourceName),
  company: null,
  investment: 'inv_1',
  observedAt: null,
  test: false,
  receivedAt: '2026-10-20T12:00:00.000Z' as Instant,
  body: '{"id":"evt"}',
});

test('a receiver whose connection to PostgreSQL was dropped without a word fails one delivery and stores the next', async () => {
  const database = await migratedDatabase();
  onTestFinished(() => database.drop());
  const way = await wayTo(database.url);
  const { inbox, server, close } = await openPostgresMirror(
    { kind: 'postgres', url: way.url, password: null },
    {
      clock: systemClock,
      logger: silentLogger,
      identity: 'keep',
      ledger: new ForgottenLedger(join(tempFolder(), 'forgotten.jsonl')),
    },
  );
  onTestFinished(close);
  const both = (eventId: string) =>
    Promise.all(
      [inbox.accept(event(eventId)), inbox.waiting()].map((work) =>
        Promise.resolve<unknown>(work).catch((error: unknown) => error),
      ),
    );
  // One connection for the delivery and one for what works it.
  expect((await both('evt_1'))[0]).toBe('stored');
  way.swallow();
  // The driver times out after five seconds.
  const lost = await both('evt_2');
  for (const error of lost) expect(error).toMatchObject({ code: 'database_busy' });
  expect(server?.isAway(lost[0])).toBe(true);
  await expect.poll(async () => (await both('evt_3'))[0]).toMatch(/^(stored|duplicate)$/);
  await expect.poll(async () => (await both('evt_3'))[1]).toMatchObject([{ lane: 'acme' }]);
});
