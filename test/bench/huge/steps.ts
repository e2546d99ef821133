import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { copyToSchema } from './copy-to-schema.js';
import { type MirrorPlace, sourceOf, sqliteFile, writeConfig } from './mirror.js';
import { migrateStep, upgradeStep } from './needs.js';
import type { Cost, Runner } from './runner.js';
import { writeVersions } from './write-versions.js';
import { writeVersionsInPostgres } from './write-versions-postgres.js';

/** One figure of one step at one size. */
export interface Figure {
  readonly database: string;
  readonly records: number;
  readonly step: string;
  /** The step of this program that measured it. */
  readonly done: string;
  readonly seconds: number;
  /** Null where a step measures single operations. */
  readonly cost: Cost | null;
  /** The size of the database afterwards, in megabytes, where the step changes it. */
  readonly size?: number;
}

export interface StepContext {
  readonly runner: Runner;
  readonly place: MirrorPlace;
  /** `sqlite` or `postgres`. */
  readonly database: string;
  readonly records: number;
  readonly versionsEach: number;
  readonly turns: number;
  /** Returns the size of the database in megabytes. */
  size(): Promise<number>;
}

export interface Step {
  readonly name: string;
  run(context: StepContext): Promise<readonly Ran[]>;
}

type Ran = Omit<Figure, 'database' | 'records' | 'done'>;

const quiet = ['--log-level', 'error'];

const configured = ({ place, database }: StepContext): readonly string[] => [
  '--config',
  writeConfig(place, database),
  ...quiet,
];

/** A step that is one command. */
function command(
  name: string,
  args: (context: StepContext) => readonly string[],
  more: {
    readonly resizes?: boolean;
    readonly before?: (context: StepContext) => Promise<unknown>;
    readonly out?: string;
  } = {},
): Step {
  return {
    name,
    run: async (context) => {
      await more.before?.(context);
      const cost = await context.runner.command([...args(context), ...configured(context)]);
      const written = more.out === undefined ? null : join(context.place.folder, more.out);
      const file = written === null ? {} : { size: statSync(written).size / 1e6 };
      if (written !== null) rmSync(written);
      return [
        {
          step: name,
          seconds: cost.seconds,
          cost,
          ...(more.resizes ? { size: await context.size() } : file),
        },
      ];
    },
  };
}

/** Lists everything again, unmeasured: the feeds of a run that goes on know nothing of the changes of the one before. */
export async function listAgain(context: StepContext): Promise<void> {
  await context.runner.command(['sync', '--resync', ...configured(context)]);
}

/** A step inside a process: each operation has a figure, and the process one. */
function work(name: string, kind: 'ticks' | 'reads' | 'queries'): Step {
  return {
    name,
    run: async ({ runner, place, records, turns }) => {
      const { seconds, cost } = await runner.work({ kind, place, records, turns });
      const each = Object.entries(seconds).map(([step, took]): Ran => ({ step, seconds: took, cost: null }));
      return [...each, { step: `${name}, the process`, seconds: cost.seconds, cost }];
    },
  };
}

const versions: Step = {
  name: 'versions written',
  run: async ({ place, database, versionsEach, size }) => {
    const began = performance.now();
    if (database === 'sqlite') writeVersions(join(place.folder, sqliteFile), versionsEach);
    else await writeVersionsInPostgres(place.database, versionsEach);
    const seconds = (performance.now() - began) / 1_000;
    return [{ step: 'versions written by the generator', seconds, cost: null, size: await size() }];
  },
};

const start: Step = {
  name: 'daemon start',
  run: async (context) => {
    const config = ['run', '--config', writeConfig(context.place, context.database), '--log-format', 'json'];
    const { companies } = context.place;
    const ready = await context.runner.untilSaid(config, 'mirroring into', 1);
    const ticked = await context.runner.untilSaid(
      [...config, '--log-level', 'debug'],
      '"mode":"delta"',
      companies,
    );
    return [
      { step: 'daemon start, until it is ready', seconds: ready.seconds, cost: ready },
      { step: 'daemon start, until every source has ticked', seconds: ticked.seconds, cost: ticked },
    ];
  },
};

const scrub = command('erase a person and scrub the file', () => ['sync', '--source', sourceOf(0)], {
  resizes: true,
  before: ({ runner, place, records, turns }) => runner.work({ kind: 'erase', place, records, turns }),
});

/** The schema of 0.1.0, which this version upgrades. */
const oldSchema = 11;

const upgrade: Step = {
  name: upgradeStep,
  run: async ({ runner, place, records, turns }) => {
    const old = join(place.folder, 'old.db');
    copyToSchema(join(place.folder, sqliteFile), old, oldSchema);
    const order = { kind: 'open', place: { ...place, database: `sqlite:${old}` }, records, turns } as const;
    const { cost } = await runner.work(order);
    for (const name of [old, `${old}-wal`, `${old}-shm`, `${old}.schema-00${oldSchema}.bak`])
      if (existsSync(name)) rmSync(name);
    return [{ step: `open a mirror of schema ${oldSchema} and migrate`, seconds: cost.seconds, cost }];
  },
};

const common: readonly Step[] = [
  work('ticks', 'ticks'),
  work('dashboard reads', 'reads'),
  work('documented queries', 'queries'),
  start,
  command('verify, 20 records of each source', (context) => ['verify', '--calls', callsFor(context)]),
  command('export CSV', () => ['export', '--out', 'export.csv'], { out: 'export.csv' }),
  command('export Parquet', () => ['export', '--format', 'parquet', '--out', 'export.parquet'], {
    out: 'export.parquet',
  }),
  command('re-listing without changes', () => ['sync', '--resync'], { resizes: true }),
  command('verify --full', (context) => ['verify', '--full', '--calls', callsFor(context)]),
];

/** Enough calls for one per page and for a sample of every source, and within what the command allows. */
function callsFor({ records }: StepContext): string {
  return String(Math.ceil(records / 50) + 100_000);
}

const migrate: Step = {
  name: migrateStep,
  run: async ({ runner, place, size }) => {
    const from = `sqlite:${join(place.folder, sqliteFile)}`;
    const cost = await runner.command(['migrate', '--from', from, '--to', place.database, ...quiet]);
    return [{ step: 'migrate from SQLite', seconds: cost.seconds, cost, size: await size() }];
  },
};

const listing: Step = command('first listing', () => ['sync'], { resizes: true });

/** In the order in which they run. */
export const sqliteSteps: readonly Step[] = [listing, versions, ...common, scrub, upgrade];

/**
 * Returns the steps of each database on PostgreSQL. The versions come from the SQLite file, beside a database that is only
 * listed, or without that copy from the generator.
 */
export function postgresSteps(without: readonly string[]): readonly (readonly Step[])[] {
  return without.includes(migrateStep)
    ? [[listing, versions, ...common, scrub]]
    : [[listing], [migrate, ...common, scrub]];
}

/** The steps that a run can leave out: none that another one needs. */
export const optionalSteps: readonly string[] = [...common, scrub, upgrade, migrate].map(({ name }) => name);
