import { Chance } from './chance.js';
import type { Step } from './database-watch.js';
import { type CatalogChange, catalogChanges } from './fake-catalog.js';
import type { Freedom } from './fake-platform.js';
import type { Death } from './power.js';
import { epoch } from './scheduler.js';
import { themed } from './themes.js';
import { type Front, type WeatherFault, weatherFaults } from './weather.js';

/** Acts of people and machines, in addition to the weather. */
export type Act =
  | {
      readonly kind: 'publish';
      readonly what: 'create' | 'change' | 'republish' | 'withdraw' | 'deactivate';
      readonly times: number;
    }
  | { readonly kind: 'restore' }
  /** Something of a company, its rounds or posts. */
  | { readonly kind: 'catalog'; readonly what: CatalogChange }
  /** A token loses or gains the scope for companies and rounds. */
  | { readonly kind: 'catalog_scope' }
  | { readonly kind: 'crash'; readonly death: Death; readonly downMillis: number }
  | {
      readonly kind: 'crash_at';
      readonly step: Step;
      readonly countdown: number;
      readonly death: Death;
      readonly downMillis: number;
    }
  | { readonly kind: 'stop'; readonly downMillis: number }
  | {
      readonly kind: 'clock_jump';
      readonly millis: number;
      /**
       * The process dies this many statements later and restarts with its clock as before; null if it continues.
       */
      readonly diesAfter: number | null;
    }
  | { readonly kind: 'disk_full'; readonly forMillis: number; readonly slack: number }
  | { readonly kind: 'locked'; readonly forMillis: number }
  | { readonly kind: 'expire' }
  | { readonly kind: 'access_lost'; readonly share: number }
  | { readonly kind: 'revoke' }
  | { readonly kind: 'narrow' }
  | { readonly kind: 'rotate_hook' }
  | { readonly kind: 'rival'; readonly forMillis: number; readonly clockAhead: number }
  | { readonly kind: 'suspend'; readonly forMillis: number }
  | { readonly kind: 'resync' }
  | { readonly kind: 'other_company' }
  | { readonly kind: 'letter'; readonly what: LetterKind; readonly times: number }
  | { readonly kind: 'analyst'; readonly holdMillis: number };

export type LetterKind =
  | 'forged'
  | 'unsigned'
  | 'stale'
  | 'malformed'
  | 'wrong_type'
  | 'too_large'
  | 'altered'
  | 'test'
  | 'unknown_event'
  | 'unknown_installation';

export type FaultClass = WeatherFault | Act['kind'];

export interface Planned {
  readonly no: number;
  readonly at: number;
  readonly act: Act;
}

export interface Plan {
  readonly seed: number;
  readonly classes: readonly FaultClass[];
  readonly freedom: Freedom;
  readonly start: number;
  readonly calmUntil: number;
  readonly chaosUntil: number;
  readonly intervalSeconds: number;
  /** Between two listings of companies and rounds without a reason. */
  readonly catalogSeconds: number;
  readonly perPage: number;
  readonly latencyMax: number;
  readonly records: number;
  readonly accounts: readonly { readonly rotating: boolean; readonly identity: boolean }[];
  readonly companies: readonly number[];
  readonly installations: boolean;
  readonly wallOffset: number;
  readonly brakeRows: number;
  readonly fronts: readonly Front[];
  readonly acts: readonly Planned[];
  /** The lifetime of an access token of a sign-in. */
  readonly accessMillis: number;
  readonly theme: string | null;
}

const actKinds = [
  'restore',
  'crash',
  'crash_at',
  'stop',
  'clock_jump',
  'disk_full',
  'locked',
  'expire',
  'access_lost',
  'revoke',
  'narrow',
  'rotate_hook',
  'rival',
  'suspend',
  'resync',
  'other_company',
  'letter',
  'catalog_scope',
] as const satisfies readonly Act['kind'][];

/**
 * Faults that halt a source until a person helps. They are rare, because little else would happen otherwise.
 */
const rare: readonly FaultClass[] = [
  'forbidden',
  'refused',
  'replica_back',
  'revoke',
  'other_company',
  'oversized',
  'narrow',
];

const hour = 3_600_000;

/** Swarm testing: each seed has its own subset of faults, with its own frequencies, and its own platform. */
export function planFor(seed: number, intervals: readonly number[] = [60, 120, 300, 900, 3600]): Plan {
  const chance = new Chance(`seed ${seed}`);
  const intervalSeconds = chance.pick(intervals);
  // Half of the runs are calm until the first listing is complete, the others are hostile from the first request.
  const calmUntil = epoch + (chance.yes(0.5) ? 1_000 : 2 * intervalSeconds * 1000 + 60_000);
  const chaosUntil = calmUntil + chance.skewed(4, 24) * intervalSeconds * 1000;
  const density = chance.pick([0.05, 0.15, 0.3, 0.5]);
  const drawn = chance.fork('classes');
  const classes = [...weatherFaults, ...actKinds].filter((name) =>
    drawn.yes((rare as readonly string[]).includes(name) ? density / 4 : density),
  );
  const sources = chance.pick([1, 1, 2, 2, 3]);
  const records = chance.skewed(0, 70);
  const plain: Plan = {
    seed,
    classes,
    intervalSeconds,
    catalogSeconds: chance.fork('catalog interval').pick([300, 900, 1800]),
    calmUntil,
    chaosUntil,
    records,
    start: epoch,
    accessMillis: 2 * hour,
    theme: null,
    freedom: freedomFrom(chance.fork('freedom')),
    perPage: chance.pick([1, 3, 10, 100, 100]),
    latencyMax: chance.pick([20, 200, 2_000]),
    accounts: Array.from({ length: sources }, () => ({
      rotating: chance.yes(0.25),
      identity: chance.yes(0.7),
    })),
    companies: Array.from({ length: sources }, () => chance.between(0, 1)),
    installations: chance.yes(0.6),
    wallOffset: chance.yes(0.2)
      ? chance.pick([-600_000, 600_000, 90_000, -365 * 24 * hour, 365 * 24 * hour])
      : 0,
    brakeRows: chance.between(2, 10),
    fronts: frontsFrom(chance.fork('fronts'), classes, calmUntil, chaosUntil),
    acts: withCatalog(
      actsFrom(chance.fork('acts'), classes, calmUntil, chaosUntil, intervalSeconds * 1000),
      chance.fork('catalog'),
      calmUntil,
      chaosUntil,
    ),
  };
  return themed(plain, chance.fork('drama'));
}

function freedomFrom(chance: Chance): Freedom {
  return {
    pageMax: chance.pick([1, 2, 5, 10, 25, 100]),
    livePaging: chance.yes(0.6),
    finalCursor: chance.yes(0.5) ? 'start' : 'end',
    order: chance.yes(0.5) ? 'id' : 'feed',
    repeats: chance.pick([0, 0, 0.2, 0.8]),
    emptyPages: chance.pick([0, 0, 0.1, 0.4]),
    tombstonesInListing: chance.yes(0.4),
    freshCursorOnEmpty: chance.yes(0.5),
    publishDelayMax: chance.pick([0, 0, 5_000, 90_000, 600_000]),
    requestsPerHour: 1_000,
    windows: chance.fork('windows').yes(0.5) ? 'hour' : 'request',
  };
}

function frontsFrom(
  chance: Chance,
  classes: readonly FaultClass[],
  from: number,
  to: number,
): readonly Front[] {
  return weatherFaults
    .filter((fault) => classes.includes(fault))
    .flatMap((fault) =>
      Array.from({ length: chance.between(1, 3) }, () => {
        const begins = from + chance.fraction() * (to - from);
        const lasts = (to - from) * chance.pick([0.05, 0.2, 0.5, 1]);
        return {
          fault,
          from: begins,
          to: Math.min(to, begins + lasts),
          probability: chance.pick([0.02, 0.1, 0.3, 1]),
        };
      }),
    );
}

function actsFrom(
  chance: Chance,
  classes: readonly FaultClass[],
  from: number,
  to: number,
  interval: number,
): readonly Planned[] {
  const moment = () => Math.round(from + chance.fraction() * (to - from));
  const acts: Omit<Planned, 'no'>[] = [];
  for (let count = chance.between(5, 30); count > 0; count -= 1) {
    const what = chance.pick([
      'create',
      'create',
      'change',
      'change',
      'change',
      'republish',
      'withdraw',
      'deactivate',
    ] as const);
    acts.push({ at: moment(), act: { kind: 'publish', what, times: chance.skewed(1, 12) } });
  }
  for (let count = chance.between(2, 8); count > 0; count -= 1)
    acts.push({
      at: moment(),
      act: {
        kind: 'analyst',
        holdMillis: chance.skewed(0, chance.pick([2_000, 60_000, interval, 8 * interval])),
      },
    });
  for (const kind of actKinds) {
    if (!classes.includes(kind)) continue;
    for (let count = chance.skewed(1, 5); count > 0; count -= 1)
      acts.push({ at: moment(), act: actFrom(chance, kind, interval) });
  }
  const numbered = acts.sort((a, b) => a.at - b.at).map((one, no) => ({ ...one, no }));
  return [...numbered, ...firstCrash(chance.fork('the first crash'), classes, acts.length)];
}

/** Adds changes of companies, rounds and posts. */
function withCatalog(acts: readonly Planned[], chance: Chance, from: number, to: number): readonly Planned[] {
  const changes = Array.from({ length: chance.skewed(0, 20) }, (_, index) => ({
    at: Math.round(from + chance.fraction() * (to - from)),
    act: { kind: 'catalog', what: chance.pick(catalogChanges) } as const,
    no: acts.length + 1 + index,
  }));
  return [...acts, ...changes].sort((a, b) => a.at - b.at);
}

/** Sometimes the first act: a machine may die while it opens a mirror for the first time. */
function firstCrash(chance: Chance, classes: readonly FaultClass[], no: number): readonly Planned[] {
  if (!classes.includes('crash_at') || !chance.yes(0.2)) return [];
  const step = chance.pick(['begin', 'statement', 'commit', 'committed'] as const);
  const countdown = chance.between(1, step === 'statement' ? 30 : 6);
  const act = { kind: 'crash_at', step, countdown, death: 'kill', downMillis: 5_000 } as const;
  return [{ no, at: epoch, act }];
}

function actFrom(chance: Chance, kind: (typeof actKinds)[number], interval: number): Act {
  const death = chance.pick(['kill', 'kill_without_shm', 'power', 'torn'] as const);
  const downMillis = chance.skewed(100, 3 * interval);
  switch (kind) {
    case 'crash':
      return { kind, death, downMillis };
    case 'crash_at': {
      const step = chance.pick(['begin', 'statement', 'commit', 'torn', 'committed', 'file'] as const);
      return { kind, step, death, downMillis, countdown: chance.skewed(1, step === 'statement' ? 120 : 25) };
    }
    case 'stop':
      return { kind, downMillis };
    case 'clock_jump': {
      const millis = chance.pick([-600_000, -5_000, 5_000, 600_000, -30 * 24 * hour, 30 * 24 * hour]);
      const dying = chance.fork('dies after a jump');
      return { kind, millis, diesAfter: millis > 0 && dying.yes(0.7) ? dying.between(1, 80) : null };
    }
    case 'disk_full':
      return { kind, forMillis: chance.skewed(1_000, 4 * interval), slack: chance.skewed(0, 6) };
    case 'suspend':
      return { kind, forMillis: chance.skewed(1_000, 300_000) };
    case 'rival': {
      const clockAhead = chance.pick([0, 0, 45_000, 600_000]);
      return { kind, forMillis: chance.skewed(500, 4 * interval), clockAhead };
    }
    case 'locked':
      // The daemon looks at the lock forty times a second, and each look takes the simulator as long as any other event.
      return { kind, forMillis: Math.min(180_000, chance.skewed(500, 4 * interval)) };
    case 'access_lost':
      return { kind, share: chance.pick([0.05, 0.3, 1]) };
    case 'letter': {
      const what = chance.pick([
        'forged',
        'unsigned',
        'stale',
        'malformed',
        'wrong_type',
        'too_large',
        'altered',
        'test',
        'unknown_event',
        'unknown_installation',
      ] as const);
      return { kind, what, times: chance.skewed(1, 8) };
    }
    default:
      return { kind };
  }
}
