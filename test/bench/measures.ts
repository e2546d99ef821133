/** One figure of the bench, with what it should be. A ratio is taken within a round, where the mood is the same. */
export interface Measure {
  readonly name: string;
  readonly unit: '×' | 'ms' | 's' | 'rec/s' | 'req/s' | 'MB' | 'B' | 'requests' | 'changes' | 'KB a change';
  /** The median over the rounds. */
  readonly value: number;
  /** The least and the most over the rounds; both the value itself where it was taken once. */
  readonly low: number;
  readonly high: number;
  readonly aim?: Aim;
}

export type Aim = { readonly least: number } | { readonly most: number };

/** How much is measured. Only `quick` and `full` give figures worth reading; a test runs less. */
export interface Scale {
  /** Records held, a run of the sections for each. */
  readonly records: readonly number[];
  readonly rounds: number;
  /** Single changes: deltas and webhooks. */
  readonly turns: number;
  /** Changes before the first that counts. */
  readonly warmUp: number;
  /** Pages fetched from afar. */
  readonly farPages: number;
  /** Records held, each beside the others, to see what grows. */
  readonly growth: readonly number[];
  /** Changes of the soak, or how many seconds of them. */
  readonly soak: number;
  readonly soakSeconds: number | null;
  /** Changes of the burst. */
  readonly burst: number;
  /** Requests of each kind to the platform's server. */
  readonly requests: number;
  /** Of each command in a round: they are short. */
  readonly starts: number;
  /** In processes of their own, the command line compiled as it is installed; a test does without. */
  readonly apart: boolean;
  /** May fetch a package of others to be measured beside. */
  readonly network: boolean;
  /** A server to make databases on; one is started for the run unless given. */
  readonly postgres: string | null;
}

export const quick: Scale = {
  ...{ records: [100_000], rounds: 3, turns: 300, warmUp: 30, farPages: 200 },
  ...{
    growth: [10_000, 100_000],
    soak: 3_000,
    soakSeconds: null,
    burst: 1_000,
    requests: 600,
    starts: 3,
    apart: true,
    network: false,
    postgres: null,
  },
};

export const full: Scale = {
  ...quick,
  ...{ records: [200_000, 1_000_000], turns: 1_000, farPages: 600 },
  ...{ growth: [10_000, 100_000, 1_000_000], soakSeconds: 3_600, requests: 2_000, network: true },
};

export interface Section {
  readonly name: string;
  /** What is measured, against what, in a sentence or two for the reader of the table. */
  readonly says: string;
  /** Whether it is run once for every number of records, or once in all. */
  readonly each: boolean;
  measure(scale: Scale, records: number): Promise<readonly Measure[]>;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export function measure(name: string, unit: Measure['unit'], values: readonly number[], aim?: Aim): Measure {
  return {
    ...{ name, unit, value: median(values), low: Math.min(...values), high: Math.max(...values) },
    ...(aim === undefined ? {} : { aim }),
  };
}

/** `over` ÷ `under`, round by round: rounds differ, neighbours less so. */
export function ratio(name: string, over: readonly number[], under: readonly number[], aim?: Aim): Measure {
  return measure(
    name,
    '×',
    over.map((value, at) => value / (under[at] ?? Number.NaN)),
    aim,
  );
}

export const isMet = ({ value, aim }: Measure): boolean | null =>
  aim === undefined ? null : 'least' in aim ? value >= aim.least : value <= aim.most;

export const times = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
