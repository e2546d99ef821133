import { onTestFinished } from 'vitest';
import { createDimensions } from '../../src/dimensions/create-dimensions.js';
import type { SourceParts } from '../../src/dimensions/listing-plan.js';
import {
  type CollectionName,
  collectionNames,
  type Differences,
  type DimensionStore,
  type Found,
  type Listing,
  type RoundLabels,
} from '../../src/dimensions/ports.js';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { Logger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { company, offering, stats, updates } from './samples.js';

export const acme = 'acme' as SourceName;
export const dayMillis = 86_400_000;
export const hourMillis = 3_600_000;
export const none: Differences = { added: 0, changed: 0, removed: 0 };

interface Wish {
  /** Each answer waits for it. */
  readonly held?: Promise<void>;
  /** How long each answer takes. */
  readonly answerMillis?: number;
  readonly listedAt?: Instant;
  /** A collection that never was listed. */
  readonly lacks?: CollectionName;
  /** When an event of a round was accepted. */
  readonly touchedAt?: Instant;
  /** Rounds that stored investments name, and that are not stored. */
  readonly unlisted?: readonly string[];
  /** Thrown instead of the next answers. */
  readonly faults?: (Fault | undefined)[];
  /** Thrown by the store, one when each listing begins. */
  readonly failures?: Error[];
  /** What the investments of the round say of it, one after the other. The platform then does not serve it. */
  readonly labels?: RoundLabels[];
}

export const noLabels: RoundLabels = { investmentType: null, offeringType: null, firstAppliedAt: null };

/** One source on a clock that stands still, with a platform of one company and its round. */
export function world({
  listedAt,
  lacks,
  touchedAt,
  unlisted = [],
  faults = [],
  failures = [],
  held,
  answerMillis = 0,
  labels,
}: Wish = {}) {
  const clock = new VirtualClock();
  const logged: { readonly level: string; readonly fields: object }[] = [];
  const at = (level: string) => (fields: object) => void logged.push({ level, fields });
  const logger: Logger = {
    ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    child: () => logger,
  };
  const asked: string[] = [];
  /** When each listing began. */
  const begunAt: number[] = [];
  const differences: (typeof none)[] = [];
  const applied: Listing[][] = [];
  let attempt = 0;
  const store: DimensionStore = {
    state: async () => ({
      listedAt: new Map(
        listedAt === undefined
          ? []
          : collectionNames.flatMap((name): [CollectionName, Instant][] =>
              name === lacks ? [] : [[name, listedAt]],
            ),
      ),
      names: { companies: new Map(), rounds: new Map(listedAt === undefined ? [] : [['ofr_1', 'A']]) },
    }),
    touchedAt: async () => touchedAt ?? null,
    unlistedRounds: async () => unlisted,
    begin: async () => {
      attempt += 1;
      begunAt.push(clock.monotonic());
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const investedRounds = labels === undefined ? [] : [{ id: 'ofr_1', companyId: 'co_1', currency: null }];
      return { attempt, investedRounds, stored: new Map() };
    },
    labelsOf: async () => labels?.shift() ?? noLabels,
    apply: async (_, __, listings) => {
      applied.push([...listings]);
      return differences.shift() ?? none;
    },
  };
  const answers: Readonly<Record<string, unknown>> = {
    '/companies/{id}': company({
      current_raise: null,
      ...(labels === undefined ? {} : { service_rounds: [] }),
    }),
    '/offerings/{external_id}': offering('ofr_1'),
    '/offerings/{offering_id}/stats': stats('ofr_1'),
    '/companies/{id}/updates': updates([]),
  };
  const source: SourceParts = {
    name: acme,
    company: 'co_1',
    offering: null,
    isPersonal: false,
    catalog: {
      look: async ({ path }, signal): Promise<Found> => {
        asked.push(path);
        await held;
        await clock.wait(answerMillis);
        if (signal.aborted) throw new Fault('stopped', 'stopped before the end');
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        if (labels !== undefined && path === '/offerings/{external_id}')
          return { kind: 'unavailable', reason: '403 insufficient_scope', forbidden: true };
        return { kind: 'found', body: answers[path] };
      },
    },
  };
  const named: SourceName[] = [];
  const dimensions = createDimensions({
    sources: [source],
    store,
    onNames: (source) => void named.push(source),
    clock,
    random: { bytes: (count) => Buffer.alloc(count), fraction: () => 0.5 },
    logger,
    intervalMillis: dayMillis,
  });
  onTestFinished(() => dimensions.close());
  const tick = async (isComplete = true) => {
    dimensions.ticked(acme, isComplete);
    await settled();
    await dimensions.idle();
  };
  /** Ticks every three minutes for so long, as an idle daemon does. */
  const pass = async (millis: number) => {
    for (let passed = 0; passed < millis; passed += 180_000) {
      await clock.advance(180_000);
      await tick();
    }
  };
  const taken = () => asked.splice(0).length;
  /** Returns the seconds from each listing to the next one. */
  const gaps = () => begunAt.slice(1).map((at, index) => (at - (begunAt[index] ?? 0)) / 1000);
  return { clock, dimensions, source, applied, differences, named, logged, tick, pass, taken, gaps };
}

/** The company, its one round, the stats of it and a page of posts. */
export const whole = 4;
