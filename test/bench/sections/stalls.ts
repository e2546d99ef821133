import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { Agent, request } from 'undici';
import { Lifecycle } from '../../../src/runtime/lifecycle.js';
import { visibleMillisMax } from '../followers.js';
import { type Measure, measure, quantile, type Scale, type Section, times } from '../measures.js';
import { mirrorRowSql, type Turn, turnMillisMin } from '../parts/daemon.js';
import type { PartOf } from '../parts/index.js';
import { sourceNameOf } from '../parts/mirror-config.js';
import { type Change, companyOf } from '../parts/platform.js';
import { startPart } from '../parts/start-part.js';
import { sharedNow } from '../shared-time.js';

/** The source with many records, and those that changes arrive for meanwhile. */
const large = 0;
const others: readonly number[] = [1, 2, 3, 4];
const recordsOfOthers = 500;
/** Often enough for what is counted in tens of milliseconds, and seldom enough to leave the file to others. */
const everyMillis = 1;
/** A person who reads pages, and a scraper in a hurry. */
const restMillis = 50;

const phases = [
  'at rest',
  'listing',
  'publishing',
  're-listing',
  'publishing the re-listing',
  'dropping indexes',
  'building indexes',
  'scrubbing',
  'backing up',
  'exporting',
  'verifying',
  'scraping',
  'browsing',
] as const;
type Phase = (typeof phases)[number];

export const stalls: Section = {
  name: 'stalls',
  each: true,
  sizes: (scale) => scale.stalls.records,
  says:
    'The longest turn of the daemon’s event loop while one source of so many records is listed, published, listed again, its ' +
    'indexes are dropped by another program and built again, and it is scrubbed, backed up, exported to CSV, verified, scraped and browsed; and meanwhile, ' +
    'for changes of four other sources (Poisson, seeded): the p99 of accepting a delivery, and of a change until its row is visible to another connection. A change counts in ' +
    'every phase that it lasted into, and the next change in a phase that none did. A turn counts where it ended; one of ' +
    `less than ${turnMillisMin} ms as ${turnMillisMin}. The phases after a listing begin when the platform has served its last page.`,
  measure: async (scale, records) => {
    const rounds: Round[] = [];
    for (let round = 0; round < scale.rounds; round += 1) rounds.push(await roundOf(scale, records));
    const of = (phase: Phase, figure: keyof PhaseFigures) =>
      rounds.map(({ figures }) => figures[phase][figure]);
    const worst = (figure: keyof PhaseFigures) =>
      rounds.map(({ figures }) => Math.max(...phases.map((phase) => figures[phase][figure])));
    const longest = rounds.map((round) => round.longest);
    return [
      measure('longest turn of all', 'ms', longest, { most: 100 }),
      measure('p99 of a delivery, worst phase', 'ms', worst('delivery'), { most: 50 }),
      measure('p99 of a visible change, worst phase', 'ms', worst('visible'), { most: 250 }),
      measure('deliveries refused', 'changes', worst('refused'), { most: 0 }),
      ...phases.flatMap((phase): Measure[] => [
        measure(`${phase}: longest turn`, 'ms', of(phase, 'turn')),
        measure(`${phase}: most of a turn on a processor`, 'ms', of(phase, 'processor')),
        measure(`${phase}: p99 of a delivery`, 'ms', of(phase, 'delivery')),
        measure(`${phase}: p99 of a visible change`, 'ms', of(phase, 'visible')),
        measure(`${phase}: changes`, 'changes', of(phase, 'changes')),
        measure(`${phase}: duration`, 's', of(phase, 'seconds')),
      ]),
    ];
  },
};

interface PhaseFigures {
  readonly turn: number;
  readonly processor: number;
  readonly delivery: number;
  readonly visible: number;
  readonly refused: number;
  readonly changes: number;
  readonly seconds: number;
}

interface Span {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
}

interface Round {
  readonly figures: Readonly<Record<Phase, PhaseFigures>>;
  /** The longest turn of the whole round, by `monitorEventLoopDelay`. */
  readonly longest: number;
}

/** Runs every phase once, over a new mirror. */
async function roundOf(scale: Scale, records: number): Promise<Round> {
  const { apart, stalls } = scale;
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-stalls-'));
  const lifecycle = new Lifecycle();
  lifecycle.add('folder', () => rmSync(folder, { recursive: true, force: true }));
  try {
    const sizes = [records, ...others.map(() => recordsOfOthers)];
    const platform = await startPart(scale, 'platform', { records: sizes }, lifecycle);
    const companies = sizes.map((_, source) => companyOf(source));
    const mirror = { folder, feedUrl: await platform.url(), companies, requestsPerHour: null };
    await platform.hold(large);
    const daemon = await startPart(
      scale,
      'daemon',
      { ...mirror, watched: true, untilIdle: false },
      lifecycle,
    );
    await platform.deliverTo(await daemon.receiverUrl());
    const file = await daemon.file();
    const sources = others.map((source) => ({ key: sourceNameOf(source), records: recordsOfOthers }));
    const reading = { file, rowSql: mirrorRowSql, sources, everyMillis, apart };
    const reader = await startPart(scale, 'reader', reading, lifecycle);
    await reader.watch(true);
    const verifier = await startPart(scale, 'verifier', mirror, lifecycle);
    while ((await reader.value('SELECT count(*) FROM sources WHERE listed_at IS NOT NULL')) !== others.length)
      await pause(5);

    const { perSecond, seconds, settleMillis } = stalls;
    const traffic = platform.traffic({ seed: 1, perSecond, seconds: null, sources: others });
    // It fails where it is awaited, after the phases.
    traffic.catch(() => {});
    const spans: Span[] = [];
    let from = sharedNow();
    const begin = () => {
      from = sharedNow();
    };
    const during = async <Value>(phase: Phase, work: () => Promise<Value>): Promise<Value> => {
      const value = await work();
      spans.push({ phase, from, to: sharedNow() });
      begin();
      return value;
    };
    /** Changes that waited for one phase are not counted in the next one. */
    const settle = async () => {
      await pause(settleMillis);
      begin();
    };
    const lists = async (page: Phase, publication: Phase, start: () => Promise<unknown>) => {
      const listed = platform.listed(large);
      const over = start();
      over.catch(() => {});
      await during(page, () => Promise.race([listed, over]));
      await during(publication, () => over);
      await settle();
    };

    await during('at rest', () => pause(seconds * 1000));
    await lists('listing', 'publishing', async () => {
      const ticked = daemon.ticked(large);
      await platform.release(large);
      await ticked;
    });
    await lists('re-listing', 'publishing the re-listing', () => daemon.tick(large, true));
    // Another program that holds the write lock.
    await during('dropping indexes', async () => dropIndexes(file));
    await settle();
    await lists('re-listing', 'building indexes', () => daemon.tick(large, true));
    await platform.alter(large, 0, true);
    await during('scrubbing', async () => {
      await daemon.tick(large);
      await daemon.scrub();
    });
    await settle();
    await during('backing up', () => daemon.backUp());
    await settle();
    await during('exporting', () => daemon.export());
    await settle();
    await during('verifying', () => verifier.verify(large));
    await settle();
    const consoleUrl = await daemon.consoleUrl();
    await during('scraping', () => visited(consoleUrl, ['/metrics'], seconds));
    await during('browsing', () => visited(consoleUrl, pages, seconds));

    await platform.stop();
    const changes = await traffic;
    const seen = await lastSeen(reader, changes);
    const { turns, longest } = await daemon.turns();
    return { figures: figuresOf(spans, turns, changes, seen), longest };
  } finally {
    await lifecycle.close();
  }
}

const pages = [
  ...['/', '/companies', `/companies/${sourceNameOf(large)}/${companyOf(large)}`, '/roster', '/operations'],
  ...['/roster?order=committed_cents', '/roster?status=reserved&dir=asc', '/sql', '/status.json'],
];

/** Drops by hand the indexes that queries use. The next complete listing builds them again. */
function dropIndexes(file: string): void {
  const db = new Sqlite(file, { timeout: 30_000 });
  try {
    const names = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE tbl_name = 'investment_rows' AND sql LIKE 'CREATE INDEX%'",
      )
      .pluck()
      .all();
    for (const name of names) db.exec(`DROP INDEX "${name}"`);
  } finally {
    db.close();
  }
}

/** Requests these pages in turn, two at a time, for so many seconds and each at least once. */
async function visited(consoleUrl: string, paths: readonly string[], seconds: number): Promise<void> {
  const until = sharedNow() + seconds * 1000;
  const dispatcher = new Agent({ connections: 2 });
  let at = 0;
  const visitor = async () => {
    do {
      const path = paths[at++ % paths.length] ?? '/';
      const { statusCode, body } = await request(`${consoleUrl}${path}`, { dispatcher });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
      await pause(restMillis);
    } while (at < paths.length || sharedNow() < until);
  };
  try {
    await Promise.all(times(2).map(visitor));
  } finally {
    await dispatcher.destroy();
  }
}

/** Waits for the last change of each source and returns the times at which all became visible. */
async function lastSeen(
  reader: PartOf<'reader'>,
  changes: readonly Change[],
): Promise<readonly (readonly number[])[]> {
  await Promise.all(
    others.map(async (source, at) => {
      const places = changes.filter((one) => one.source === source).map(({ place }) => place);
      if (places.length > 0) await reader.seen(at, Math.max(...places), visibleMillisMax);
    }),
  );
  return await reader.times();
}

export function figuresOf(
  spans: readonly Span[],
  turns: readonly Turn[],
  changes: readonly Change[],
  seen: readonly (readonly number[])[],
): Readonly<Record<Phase, PhaseFigures>> {
  const visibleAt = ({ source, place }: Change) => seen[others.indexOf(source)]?.[place - 1] ?? Number.NaN;
  const figures = phases.map((phase): readonly [Phase, PhaseFigures] => {
    const own = spans.filter((span) => span.phase === phase);
    const begins = Math.min(...own.map(({ from }) => from));
    const next = changes.find(({ madeAt }) => madeAt >= begins) ?? changes.at(-1);
    const lasted = (from: number, to: number) => own.some((span) => from < span.to && to > span.from);
    const accepting = changes.filter((one) => lasted(one.madeAt, one.answeredAt));
    const arriving = changes.filter((one) => lasted(one.madeAt, visibleAt(one)));
    const p99 = (met: readonly Change[], millis: (change: Change) => number) =>
      quantile((met.length === 0 && next !== undefined ? [next] : met).map(millis), 0.99);
    const ended = turns.filter(({ endedAt }) => own.some(({ from, to }) => endedAt >= from && endedAt < to));
    return [
      phase,
      {
        turn: Math.max(turnMillisMin, ...ended.map(({ millis }) => millis)),
        processor: Math.max(0, ...ended.map(({ processorMillis }) => processorMillis)),
        delivery: p99(accepting, ({ madeAt, answeredAt }) => answeredAt - madeAt),
        visible: p99(arriving, (one) => visibleAt(one) - one.madeAt),
        refused: accepting.filter(({ status }) => status !== 202).length,
        changes: arriving.length,
        seconds: own.reduce((sum, { from, to }) => sum + to - from, 0) / 1000,
      },
    ];
  });
  return Object.fromEntries(figures) as Record<Phase, PhaseFigures>;
}
