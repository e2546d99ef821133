/**
 * One figure of the benchmark, with its target. A ratio is computed within a round, where the machine's speed is
 * the same.
 */
export interface Measure {
  readonly name: string;
  readonly unit:
    | '×'
    | 'µs'
    | 'ms'
    | 's'
    | 'commits'
    | 'rec/s'
    | 'req/s'
    | 'MB'
    | 'B'
    | 'requests'
    | 'changes'
    | 'KB a change';
  /** The median over the rounds. */
  readonly value: number;
  /** The lowest and highest value over the rounds; both equal the value if it was measured once. */
  readonly low: number;
  readonly high: number;
  readonly aim?: Aim;
}

export type Aim = { readonly least: number } | { readonly most: number };

/** How much is measured. Only `quick` and `full` give meaningful figures; a test runs less. */
export interface Scale {
  /** The numbers of stored records, with one run of the sections for each. */
  readonly records: readonly number[];
  readonly rounds: number;
  /** Single changes: deltas and webhooks. */
  readonly turns: number;
  /** Changes before the first one that counts. */
  readonly warmUp: number;
  /** Pages fetched with network latency. */
  readonly farPages: number;
  /** The numbers of records compared with each other, to show what grows. */
  readonly growth: readonly number[];
  /** The number of changes of the soak, or its seconds. */
  readonly soak: number;
  readonly soakSeconds: number | null;
  /** Changes of the burst. */
  readonly burst: number;
  /** Requests of each kind to the platform's server. */
  readonly requests: number;
  /** Runs of each command in a round: they are short. */
  readonly starts: number;
  readonly live: LiveScale;
  /** Changes one after the other. */
  readonly sequence: number;
  /** Deliveries of a flood; a tenth as many are sent one by one. */
  readonly deliveries: number;
  readonly stalls: StallScale;
  readonly sandbox: SandboxScale;
  /** Whether to run in separate processes, with the command line compiled as installed; a test does not. */
  readonly apart: boolean;
  /** Whether it may fetch a third-party package for comparison. */
  readonly network: boolean;
  /** A server on which to create databases; null starts one for the run. */
  readonly postgres: string | null;
}

export interface LiveScale {
  /** How long each rate lasts. */
  readonly seconds: number;
  /** Changes a second, over all sources. */
  readonly rates: readonly number[];
  /** The numbers of sources. */
  readonly sources: readonly number[];
  /** The listing of companies and rounds, which follows that of the records, is over when no request came for so long. */
  readonly restMillis: number;
}

export interface StallScale {
  /** The numbers of records of the large source. */
  readonly records: readonly number[];
  /** How long the phases last that have no end of their own: rest, scrapes, browsing. */
  readonly seconds: number;
  /** Changes a second of the other sources. */
  readonly perSecond: number;
  /** The pause between two phases. Longer than a delivery or a tick takes once nothing blocks it. */
  readonly settleMillis: number;
}

export interface SandboxScale {
  readonly companies: number;
  /** Investments of each company. */
  readonly records: number;
}

export const quick: Scale = {
  records: [100_000],
  rounds: 3,
  turns: 300,
  warmUp: 30,
  farPages: 200,
  growth: [10_000, 100_000],
  soak: 3_000,
  soakSeconds: null,
  burst: 1_000,
  requests: 600,
  starts: 3,
  live: { seconds: 60, rates: [0.2, 1, 10], sources: [1, 20], restMillis: 3_000 },
  sequence: 20,
  deliveries: 5_000,
  stalls: { records: [200_000], seconds: 10, perSecond: 10, settleMillis: 2_000 },
  sandbox: { companies: 10_000, records: 100 },
  apart: true,
  network: false,
  postgres: null,
};

export const full: Scale = {
  ...quick,
  records: [200_000, 1_000_000],
  turns: 1_000,
  farPages: 600,
  growth: [10_000, 100_000, 1_000_000],
  soakSeconds: 3_600,
  requests: 2_000,
  sequence: 400,
  deliveries: 20_000,
  stalls: { ...quick.stalls, records: [200_000, 1_000_000] },
  network: true,
};

export interface Section {
  readonly name: string;
  /** What is measured and against what, in a sentence or two for the reader of the table. */
  readonly says: string;
  /** Whether it runs once for every number of records, or once in total. */
  readonly each: boolean;
  /** The numbers of records it runs for, if they are its own. */
  sizes?(scale: Scale): readonly number[];
  measure(scale: Scale, records: number): Promise<readonly Measure[]>;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export function measure(name: string, unit: Measure['unit'], values: readonly number[], aim?: Aim): Measure {
  return {
    name,
    unit,
    value: median(values),
    low: Math.min(...values),
    high: Math.max(...values),
    ...(aim === undefined ? {} : { aim }),
  };
}

/** `over` ÷ `under`, round by round: rounds differ in speed, neighbouring measurements less so. */
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
