import type { ColumnEntry } from './column.js';
import { publicRelations } from './relations.js';

/** A public view that also exists with typed columns: in the schema `analytics` of PostgreSQL. */
export interface TypedView {
  readonly name: string;
  readonly columns: readonly ColumnEntry[];
  /** Whether its rows can name a person. */
  readonly identity: boolean;
}

/** Columns that only a view with names has. `name`, `state` and `message` also occur elsewhere. */
const personal = new Set(['legal_name', 'email', 'address_line', 'bio', 'external_username']);

/** Every public view except `quarantine`, whose bodies have no columns to type. */
export const typedViews: readonly TypedView[] = publicRelations
  .filter(({ name, kind }) => kind === 'view' && name !== 'quarantine')
  .map(({ name, columns }) => ({
    name,
    columns,
    identity: columns.some((column) => personal.has(column.name)),
  }));

/** `committed_cents` becomes `committed`, and `raised_cents_reported` becomes `raised_reported`. */
export const moneyName = (cents: string): string => cents.replace(/_cents(?=_|$)/, '');

/** The views that have amounts. On SQLite each exists with its amounts in whole units as `analytics_NAME`. */
export const moneyViews: readonly TypedView[] = typedViews.filter(({ columns }) =>
  columns.some(({ type }) => type === 'cents'),
);

export const moneyViewName = (name: string): string => `analytics_${name}`;
