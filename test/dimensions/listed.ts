import type { RoundRecord } from '../../src/dimensions/collections/rounds.js';
import { listCollections } from '../../src/dimensions/list-collections.js';
import {
  type Collection,
  collectionNames,
  type Found,
  type Known,
  type Listing,
  type Lookup,
  type Row,
} from '../../src/dimensions/ports.js';
import type { Fault } from '../../src/domain/fault.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { company, offering, stats, updates } from './samples.js';

const never = new AbortController().signal;

export const hidden = (reason = '404 not_found'): Found => ({
  kind: 'unavailable',
  reason,
  forbidden: reason.startsWith('403'),
});

type Answers = Readonly<Record<string, unknown>>;

/** What the platform answers about a company with two rounds and two posts. */
export const served: Answers = {
  '/companies/co_1': company(),
  '/offerings/ofr_1': offering('ofr_1'),
  '/offerings/ofr_2': offering('ofr_2', { started_at: '2024-01-01T00:00:00Z' }),
  '/offerings/ofr_1/stats': stats('ofr_1'),
  '/offerings/ofr_2/stats': stats('ofr_2', { by_status: {}, currency: null }),
  '/companies/co_1/updates': updates(['u1', 'u2']),
};

interface Wish {
  readonly answers?: Answers;
  readonly known?: Partial<Known>;
  readonly cache?: Map<string, RoundRecord>;
  readonly offering?: string;
  readonly isPersonal?: boolean;
}

/** Lists everything from these answers; a function answers by throwing. */
export async function listed({
  answers = served,
  known = {},
  cache = new Map(),
  offering: only,
  isPersonal = false,
}: Wish = {}) {
  const asked: string[] = [];
  const result = await listCollections({
    source: { company: isPersonal ? null : 'co_1', offering: only ?? null, isPersonal },
    catalog: {
      look: async ({ path, params = {}, query, etag }: Lookup): Promise<Found> => {
        const url = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? '');
        asked.push(etag === undefined ? url : `${url} if not ${etag}`);
        const answer = answers[url];
        if (answer === undefined) return hidden();
        if (typeof answer === 'function') return answer(etag, query?.cursor);
        return { kind: 'found', body: answer };
      },
    },
    known: { attempt: 1, investedRounds: [], stored: new Map(), ...known },
    wanted: new Set(collectionNames),
    labelsOf: async () => ({
      investmentType: 'SAFE',
      offeringType: 'Reg D',
      firstAppliedAt: '2024-02-01T00:00:00.000Z',
    }),
    cache,
    clock: new VirtualClock(),
    signal: never,
  });
  const of = (name: Collection['name']): Listing | undefined =>
    result.listings.find(({ collection }) => collection.name === name);
  const rows = (name: Collection['name']): readonly Row[] => {
    const listing = of(name);
    return listing?.kind === 'complete' ? listing.rows : [];
  };
  return { ...result, asked, of, rows };
}

export const throwing = (fault: Fault) => () => {
  throw fault;
};
