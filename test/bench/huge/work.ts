import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { request } from 'undici';
import { startEngine } from '../../../src/daemon/engine.js';
import { ForgottenLedger } from '../../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../../src/daemon/open-mirror.js';
import type { SourceName } from '../../../src/domain/ids.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { dialectFor } from '../../../src/store/dialect/dialect-for.js';
import { documentedQueries } from '../../../src/store/documented-queries.js';
import { withFoundPeople } from '../../../src/store/reads/dashboard/find-people.js';
import { readOverview } from '../../../src/store/reads/dashboard/overview.js';
import { rosterChoices, rosterCount, rosterPage } from '../../../src/store/reads/dashboard/roster.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import { readStatus } from '../../../src/store/reads/status.js';
import { idOf } from '../feed.js';
import { quantile } from '../measures.js';
import { configOf, firstSource, type MirrorPlace, sourceOf } from './mirror.js';

/*
 * What is measured inside a process of its own, because a command of its own would mostly measure its start. Each kind of
 * work returns seconds by name.
 */

export interface WorkOrder {
  readonly kind: 'ticks' | 'reads' | 'queries' | 'open' | 'erase';
  readonly place: MirrorPlace;
  readonly records: number;
  readonly turns: number;
}

export type Seconds = Readonly<Record<string, number>>;

const works: Readonly<Record<WorkOrder['kind'], (order: WorkOrder) => Promise<Seconds>>> = {
  ticks,
  reads,
  queries,
  open: async ({ place }) => ({ 'open and migrate': await timed(async () => (await opened(place)).close()) }),
  erase: async ({ place }) => {
    await change(place, 0, 0, true);
    const engine = await engineOf(place);
    await engine.sync.tick(firstSource as SourceName, {});
    await engine.close();
    return {};
  },
};

export async function doWork(order: WorkOrder): Promise<Seconds> {
  return await works[order.kind](order);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
}

const opened = (place: MirrorPlace) => {
  const config = configOf(place);
  const ledger = new ForgottenLedger(config.forget.ledger);
  return openMirror(config.database, { clock: systemClock, logger: silentLogger, identity: 'keep', ledger });
};

const engineOf = (place: MirrorPlace) =>
  startEngine({ config: configOf(place), clock: systemClock, random: systemRandom, logger: silentLogger });

const change = (place: MirrorPlace, company: number, no: number, gone = false) =>
  request(`${place.feedUrl}/?company=${company}&no=${no}${gone ? '&gone' : ''}`, { method: 'POST' }).then(
    (answer) => answer.body.dump(),
  );

/** Changes one record after another, each of another company, and lets its source tick. */
async function ticks({ place, turns }: WorkOrder): Promise<Seconds> {
  const engine = await engineOf(place);
  try {
    const took: number[] = [];
    const warmUp = Math.min(10, turns);
    for (let turn = 0; turn < turns + warmUp; turn += 1) {
      const company = turn % place.companies;
      await change(place, company, 1 + ((turn * 37) % 50));
      const seconds = await timed(async () => {
        const { report } = await engine.sync.tick(sourceOf(company) as SourceName, {});
        if (report.outcome !== 'done' || report.applied.changed !== 1)
          throw new Error(
            `the tick ended ${report.outcome}: ${report.message ?? JSON.stringify(report.applied)}`,
          );
      });
      if (turn >= warmUp) took.push(seconds);
    }
    return {
      'tick with a change, median': quantile(took, 0.5),
      'tick with a change, p95': quantile(took, 0.95),
    };
  } finally {
    await engine.close();
  }
}

const page = { order: 'applied_at', descending: true, after: null, rowsMax: 50, identity: true } as const;

async function reads({ place, records }: WorkOrder): Promise<Seconds> {
  const seconds: Record<string, number> = {};
  const location = configOf(place).database;
  await readMirror(location, async (db) => {
    const each = async (name: string, work: () => Promise<unknown>) => {
      seconds[name] = await repeated(work);
    };
    const middle = '2026-05-14T12:00:00.000Z';
    const after = { value: middle, id: idOf(0), source: firstSource };
    const search = (person: string) => async () => {
      const filter = await withFoundPeople(db, { person });
      await rosterPage(db, { ...page, filter });
      await rosterCount(db, filter, 10_001);
    };
    await each('roster page, newest', () => rosterPage(db, { ...page, filter: {} }));
    await each('roster page, in the middle', () => rosterPage(db, { ...page, after, filter: {} }));
    await each('roster page of a company', () =>
      rosterPage(db, { ...page, filter: { source: firstSource } }),
    );
    await each('roster page by amount', () =>
      rosterPage(db, { ...page, order: 'committed_cents', filter: { source: firstSource } }),
    );
    await each('roster count, up to 10,001', () => rosterCount(db, {}, 10_001));
    await each('roster choices', () => rosterChoices(db));
    await each('record by its id', () => rosterPage(db, { ...page, filter: { id: idOf(records >> 1) } }));
    await each('search for a name, many', search('Person 7'));
    await each('search for a name, one', search(`Person ${records - 2}`));
    await each('search in a company, none', async () => {
      await rosterPage(db, { ...page, filter: { source: firstSource, person: 'nobody at all' } });
    });
    await each('overview', () => readOverview(db, Date.now(), 10));
    await each('status', () => dialectFor(location).inSnapshot((ask) => readStatus(ask, systemClock)));
  });
  return seconds;
}

async function queries({ place }: WorkOrder): Promise<Seconds> {
  const location = configOf(place).database;
  const past = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const seconds: Record<string, number> = {};
  await readMirror(location, async (db) => {
    for (const query of documentedQueries) {
      const text = dialectFor(location).sqlOf(query).replaceAll('2026-10-15T00:00:00.000Z', past);
      seconds[query.name] = await repeated(() => sql.raw(text).execute(db));
    }
  });
  return seconds;
}

/** Returns the median of several runs after a first one, or what the first one took if that is long. */
async function repeated(work: () => Promise<unknown>): Promise<number> {
  const first = await timed(work);
  if (first > 2) return first;
  const took: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) took.push(await timed(work));
  await pause(0);
  return quantile(took, 0.5);
}
