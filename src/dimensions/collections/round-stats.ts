import { storableText } from '../../domain/text.js';
import { broken, fieldsOf, Reader, requireAtMost } from '../fields.js';
import type { Collection, Row } from '../ports.js';

export const roundStats: Collection = {
  name: 'round_stats',
  table: 'round_stat_rows',
  key: ['offering_id', 'status'],
  columns: [
    ...['offering_id', 'status', 'company_id', 'currency', 'investments', 'committed_cents', 'raised_cents'],
    ...['published_through', 'asked_at', 'extra'],
  ],
  versions: null,
  touchedBy: ['offering.', 'installation.'],
};

/** The platform documents some twenty statuses. */
const statusesMax = 200;
/** As of an investment: the status is part of a key. */
const statusLengthMax = 200;

const known: ReadonlySet<string> = new Set(['type', 'offering', 'company', 'currency', 'by_status', 'total']);
const totals: ReadonlySet<string> = new Set(['count', 'committed_cents', 'raised_cents']);
const knownInside = { by_status: totals, total: totals };

/** Each row repeats the unknown fields of its round. So many characters are written for one round at most. */
const repeatedMax = 1_000_000;

/** Parses `GET /offerings/{id}/stats`: one row for each status that has investments. Throws for those of another round. */
export function parseStats(body: unknown, round: string, askedAt: string): readonly Row[] {
  const { data, meta } = fieldsOf(body);
  const read = new Reader('set of stats', fieldsOf(data));
  // Without investments, too: no rows of another round would delete those of this one.
  if (read.required('offering') !== round) throw broken('set of stats', 'offering');
  const publishedThrough = new Reader('set of stats', fieldsOf(meta)).time('published_through');
  const byStatus = fieldsOf(data).by_status;
  if (typeof byStatus !== 'object' || byStatus === null || Array.isArray(byStatus))
    throw broken('set of stats', 'by_status');
  const statuses = Object.entries(byStatus);
  requireAtMost(statusesMax, statuses.length, 'set of stats', 'statuses');
  const ofRound = new Reader('set of stats', { ...fieldsOf(data), by_status: null }).extra(
    known,
    knownInside,
  );
  const repeated = (ofRound?.length ?? 0) * statuses.length;
  requireAtMost(repeatedMax, repeated, 'set of stats', 'characters of unknown fields');
  return statuses.map(([status, counted]) => {
    if (status.length > statusLengthMax || storableText(status) !== status)
      throw broken('set of stats', 'by_status');
    const of = new Reader('set of stats', fieldsOf(counted));
    return {
      offering_id: round,
      status,
      company_id: read.text('company'),
      currency: read.text('currency'),
      investments: whole(of, 'count'),
      committed_cents: whole(of, 'committed_cents'),
      raised_cents: whole(of, 'raised_cents'),
      published_through: publishedThrough,
      asked_at: askedAt,
      extra: new Reader('set of stats', { ...fieldsOf(data), by_status: counted }).extra(known, knownInside),
    };
  });
}

function whole(read: Reader, name: string): number {
  const value = read.count(name);
  if (value === null) throw broken('set of stats', name);
  return value;
}
