/** Steps at which `stops.mjs` can strike, in about the order in which a change passes them. */
export const steps = [
  'a delivery arrived',
  'before the inbox row',
  'after the inbox row',
  'a delivery answered',
  'before the tick opened',
  'after the tick opened',
  'before a listing begins',
  'after a listing begins',
  'a page asked for',
  'a page fetched',
  'before a listing page',
  'after a listing page',
  'before a listing is published',
  'after a listing is published',
  'before a delta page',
  'before a commit',
  'after a commit',
  'after a delta page',
  'before the tick is recorded',
  'after the tick is recorded',
  'before the drain picked',
  'after the drain picked',
  'before the worked mark',
  'after the worked mark',
] as const;

/** The steps that only an empty mirror reaches. */
export const stepsOfListings: readonly Step[] = steps.filter((step) => step.includes(' listing '));

export type Step = (typeof steps)[number];

export interface Stop {
  readonly step: Step;
  /** The number of the occurrence, from 1. */
  readonly nth: number;
  readonly signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP';
}
