import { publicRelations } from '../../src/store/dictionary/relations.js';

/** How the rows of one relation of two mirrors are compared. */
export interface ComparedRelation {
  readonly name: string;
  /** The columns that tell its rows apart. */
  readonly key: readonly string[];
  /** The columns that are compared: all but those that may differ. */
  readonly columns: readonly string[];
}

/** Columns that may differ between two mirrors of one platform, and why. */
const ofThisMirror = {
  valid_from: 'when this mirror committed the version',
  change_seq: 'a number of the change feed of this mirror',
};

const versions = {
  ...ofThisMirror,
  reason: 'only the change feed of the platform has reasons, a listing has none (rule INV-29)',
};

interface Rule {
  readonly key: readonly string[];
  readonly mayDiffer: Readonly<Record<string, string>>;
  /** Columns with sums that the platform reports. They change with every investment, and are listed now and then. */
  readonly figures?: readonly string[];
}

/** What a mirror shows of the platform. It depends on the platform alone. */
export const compared: Readonly<Record<string, Rule>> = {
  investments: { key: ['source', 'id'], mayDiffer: versions },
  identities: { key: ['source', 'id'], mayDiffer: {} },
  roster: { key: ['source', 'id'], mayDiffer: versions },
  round_totals: { key: ['source', 'company_id', 'offering_id', 'status', 'currency'], mayDiffer: {} },
  daily_raised: { key: ['source', 'company_id', 'day', 'currency'], mayDiffer: {} },
  investor_totals: { key: ['source', 'investor_id', 'currency'], mayDiffer: {} },
  companies: {
    key: ['source', 'id'],
    mayDiffer: ofThisMirror,
    figures: ['raised_cents', 'profile_raised_cents'],
  },
  rounds: {
    key: ['source', 'id'],
    mayDiffer: ofThisMirror,
    figures: ['raised_cents_reported', 'investor_count_reported'],
  },
  round_stats: {
    key: ['source', 'offering_id', 'status', 'currency'],
    mayDiffer: {
      asked_at: 'when this mirror asked',
      published_through: "the platform's time of that answer",
    },
    figures: ['status', 'investments', 'committed_cents', 'raised_cents'],
  },
  company_updates: { key: ['source', 'id'], mayDiffer: ofThisMirror },
};

const life = 'what this mirror lived through';
const operation = 'how this mirror is operated';

/** Relations that are not compared, and why. */
export const notCompared: Readonly<Record<string, string>> = {
  investment_history: life,
  company_history: life,
  round_history: life,
  changes: life,
  incoming: 'empty unless a listing is in progress',
  awaiting_deletion: 'rows that a listing did not name, which a new mirror never had',
  collections: operation,
  sync_status: operation,
  ticks: operation,
  notices: operation,
  quarantine: life,
  drift: life,
  sources: operation,
  followed_sources: operation,
  webhook_inbox: operation,
  erasures: life,
  forgotten: operation,
  data_dictionary: 'the same in every mirror of a version',
};

/**
 * Returns the compared relations with the columns of the data dictionary, so that a new column is compared too. Without
 * figures, for a mirror whose companies and rounds were listed before its last investments, a relation whose key is
 * one of its figures is left out.
 */
export function comparedRelations(figures: 'with figures' | 'without figures'): readonly ComparedRelation[] {
  return publicRelations.flatMap(({ name, columns }) => {
    const rule = compared[name];
    if (rule === undefined) return [];
    const leftOut = figures === 'with figures' ? [] : (rule.figures ?? []);
    if (rule.key.some((column) => leftOut.includes(column))) return [];
    const names = columns.map((column) => column.name);
    const kept = names.filter((column) => !(column in rule.mayDiffer) && !leftOut.includes(column));
    return [{ name, key: rule.key, columns: kept }];
  });
}
