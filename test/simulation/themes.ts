import type { Chance } from './chance.js';
import type { Act, FaultClass, Plan, Planned } from './plan.js';
import { quotaTheme } from './quota-judge.js';
import type { Front, WeatherFault } from './weather.js';

/*
 * Faults drawn one by one seldom coincide. Some bugs appear only when two or three of them meet at the right
 * moment, so many runs have a theme: a scripted sequence on top of the other faults.
 */
export interface Theme {
  /** The relative frequency of the theme. */
  readonly weight: number;
  readonly tell: (plan: Plan, chance: Chance) => Plan;
}

type Timed = Omit<Planned, 'no'>;

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

const themes: Readonly<Record<string, Theme>> = {
  'sign-ins that turn fast, on a network that doubles and a machine that dies': { weight: 4, tell: signIns },
  'names under a grant that ends, or begins': { weight: 2, tell: grantMoves },
  'changes behind the reader of a listing': { weight: 1, tell: changesWhileListing },
  'records nobody can read in a listing': { weight: 1, tell: unreadableListing },
  'large pages': { weight: 1, tell: largePages },
  'a listing that waits under a clock far ahead': { weight: 1, tell: clockAhead },
  'halts that meet a locked database': { weight: 1, tell: lockedHalts },
};

export function themed(plan: Plan, chance: Chance): Plan {
  const quota = chance.fork('a small quota');
  if (quota.yes(0.06)) return { ...smallQuota(plan, quota), theme: quotaTheme };
  if (!chance.yes(0.45)) return plan;
  const all = Object.entries(themes).flatMap(([name, theme]) =>
    Array.from({ length: theme.weight }, () => [name, theme] as const),
  );
  const [name, theme] = chance.pick(all);
  return { ...theme.tell(plan, chance.fork(name)), theme: name };
}

function signIns(plan: Plan, chance: Chance): Plan {
  const doubles = chance.yes(0.6);
  return told(
    {
      ...plan,
      accounts: plan.accounts.map((account) => ({ ...account, rotating: true })),
      accessMillis: chance.pick([90 * second, 5 * minute, 30 * minute]),
    },
    [
      ...some(3, () => ({
        at: within(plan, chance, 0, 1),
        act: {
          kind: 'crash_at',
          step: 'file',
          countdown: chance.between(1, 14),
          death: chance.pick(['kill', 'power', 'torn'] as const),
          downMillis: chance.skewed(1 * second, plan.intervalSeconds * second),
        } as const,
      })),
      ...some(2, () => ({
        at: within(plan, chance, 0.3, 1),
        act: {
          kind: 'crash',
          death: chance.pick(['power', 'torn'] as const),
          downMillis: 5 * second,
        } as const,
      })),
    ],
    doubles ? [front(plan, 'twice', chance.pick([0.3, 1]))] : [],
  );
}

/**
 * The daemon notices a lost grant with the next record, or by asking where no record comes; a new grant makes it
 * list everything again.
 */
function grantMoves(plan: Plan, chance: Chance): Plan {
  const silent = chance.yes(0.5);
  const calm = without(plan, ['narrow', 'resync', 'expire', 'access_lost', 'gone_delta', 'replica_back']);
  const at = within(plan, chance, silent ? 0.98 : 0.4, silent ? 1 : 0.6);
  const publishing = some(silent ? 0 : 4, () => ({
    at: within(plan, chance, 0.6, 1),
    act: { kind: 'publish', what: 'change', times: 1 } as const,
  }));
  const begins = chance.yes(0.4);
  const quiet = { ...calm, acts: calm.acts.filter((one) => !silent || one.at < at) };
  return told(
    {
      ...quiet,
      freedom: { ...plan.freedom, emptyPages: 0 },
      records: Math.max(plan.records, 10),
      accounts: plan.accounts.map((account) => ({ ...account, identity: !begins })),
    },
    [{ at, act: { kind: 'narrow' } }, ...publishing],
    [],
  );
}

function changesWhileListing(plan: Plan, chance: Chance): Plan {
  const begins = some(2, () => within(plan, chance, 0, 0.9));
  return told(
    {
      ...plan,
      freedom: {
        ...plan.freedom,
        finalCursor: 'end',
        livePaging: true,
        order: 'id',
        publishDelayMax: 0,
        emptyPages: 0,
      },
      perPage: chance.pick([1, 2]),
      latencyMax: 2 * second,
      records: Math.max(plan.records, 50),
    },
    begins.flatMap((begin) => [
      { at: begin, act: { kind: 'resync' } as const },
      ...some(15, (no) => ({
        at: begin + (no + 1) * 2 * second,
        act: { kind: 'publish', what: 'change', times: 2 } as const,
      })),
    ]),
    [],
  );
}

function unreadableListing(plan: Plan, chance: Chance): Plan {
  const read = without(plan, ['replica_back', 'access_lost']);
  return told(
    { ...read, records: Math.max(plan.records, 30) },
    some(4, () => ({ at: within(plan, chance, 0, 1), act: { kind: 'resync' } as const })),
    [front(plan, 'poison', chance.pick([0.05, 0.1]))],
  );
}

function largePages(plan: Plan, chance: Chance): Plan {
  return told(
    {
      ...plan,
      freedom: { ...plan.freedom, pageMax: 100, publishDelayMax: 0 },
      perPage: 100,
      records: Math.max(plan.records, 70),
    },
    some(2, () => ({
      at: within(plan, chance, 0.1, 1),
      act: { kind: 'publish', what: 'change', times: 80 } as const,
    })),
    [],
  );
}

function clockAhead(plan: Plan, chance: Chance): Plan {
  const gone = front(plan, 'gone_listing', 1);
  const from = within(plan, chance, 0.4, 0.7);
  return told(
    {
      ...plan,
      wallOffset: chance.pick([30 * day, 365 * day]),
      freedom: { ...plan.freedom, pageMax: Math.min(plan.freedom.pageMax, 5) },
      perPage: chance.pick([1, 3]),
      records: Math.max(plan.records, 30),
    },
    some(3, () => ({ at: within(plan, chance, 0.7, 1), act: { kind: 'resync' } as const })),
    [{ ...gone, from }],
  );
}

function lockedHalts(plan: Plan, chance: Chance): Plan {
  return told(
    plan,
    [
      ...some(25, () => ({
        at: within(plan, chance, 0, 1),
        act: { kind: 'locked', forMillis: chance.between(3 * second, 20 * second) } as const,
      })),
      ...some(4, () => ({
        at: within(plan, chance, 0, 1),
        act: { kind: 'stop', downMillis: 1 * second } as const,
      })),
    ],
    [front(plan, chance.pick(['forbidden', 'refused']), 0.5), front(plan, 'slow', 0.7)],
  );
}

/**
 * Announces changes faster than a small quota can answer, for two and a half hours of good weather and with no other
 * fault. How often they come changes, so that windows end with much and with little left.
 */
function smallQuota(plan: Plan, chance: Chance): Plan {
  const { calmUntil } = plan;
  const chaosUntil = calmUntil + 150 * minute;
  const acts: Timed[] = [];
  for (let at = calmUntil; at < chaosUntil; ) {
    const until = at + chance.between(5, 60) * minute;
    const gap = chance.pick([4, 10, 25, 120]) * second;
    for (; at < Math.min(until, chaosUntil); at += chance.between(1, gap))
      acts.push({ at, act: { kind: 'publish', what: 'change', times: 1 } });
  }
  return told(
    {
      ...plan,
      chaosUntil,
      classes: [],
      fronts: [],
      acts: [],
      wallOffset: 0,
      latencyMax: 200,
      perPage: 100,
      intervalSeconds: Math.max(plan.intervalSeconds, 300),
      // Listed once and for unknown rounds: the quota is for the changes.
      catalogSeconds: 86_400,
      records: Math.max(plan.records, 5),
      accounts: plan.accounts.map((account) => ({ ...account, rotating: false })),
      companies: plan.companies.map(() => 0),
      installations: true,
      freedom: {
        ...plan.freedom,
        pageMax: 100,
        emptyPages: 0,
        publishDelayMax: 0,
        requestsPerHour: chance.pick([60, 100, 250]),
      },
    },
    acts,
    [],
  );
}

export const some = <Item>(count: number, make: (no: number) => Item) =>
  Array.from({ length: count }, (_, no) => make(no));

/** A time between these shares of the chaos phase. */
export const within = ({ calmUntil, chaosUntil }: Plan, chance: Chance, from: number, to: number) =>
  Math.round(calmUntil + (from + (to - from) * chance.fraction()) * (chaosUntil - calmUntil));

export const front = ({ calmUntil, chaosUntil }: Plan, fault: WeatherFault, probability: number): Front => ({
  fault,
  probability,
  from: calmUntil,
  to: chaosUntil,
});

const without = (plan: Plan, kinds: readonly FaultClass[]): Plan => ({
  ...plan,
  classes: plan.classes.filter((one) => !kinds.includes(one)),
  fronts: plan.fronts.filter(({ fault }) => !kinds.includes(fault)),
  acts: plan.acts.filter(({ act }) => !kinds.includes(act.kind)),
});

/** The fronts of a theme come first: of two for one fault, the first counts. */
export function told(plan: Plan, acts: readonly Timed[], fronts: readonly Front[]): Plan {
  const last = Math.max(-1, ...plan.acts.map(({ no }) => no));
  const numbered = acts.map((one, index) => ({ ...one, no: last + 1 + index }));
  const kinds = [...acts.map(({ act }): Act['kind'] => act.kind), ...fronts.map(({ fault }) => fault)];
  return {
    ...plan,
    classes: [...new Set([...plan.classes, ...kinds.filter((kind) => kind !== 'publish')])],
    fronts: [...fronts, ...plan.fronts],
    acts: [...plan.acts, ...numbered].sort((a, b) => a.at - b.at),
  };
}
