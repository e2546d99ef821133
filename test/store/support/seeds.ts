import { rowsOf, type Store } from '../mirror-fixture.js';
import type { Row } from './databases.js';
import { recordDefaults, sourceRow } from './mirror.js';

/** Inserts a row into a store of either kind. Returns the number that the store assigned to it. */
export async function seedRow(store: Store, table: string, row: Row, number = '1'): Promise<number> {
  const columns = Object.keys(row);
  const marks = columns.map(() => '?').join(', ');
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks}) RETURNING ${number} AS number`;
  const [made] = (await rowsOf(store, sql, ...Object.values(row))) as [{ number: number }];
  return made.number;
}

export const seedSource = (store: Store, no: number, set: Row = {}): Promise<number> =>
  seedRow(store, 'sources', sourceRow(no, set), 'no');

export const seedInvestment = (store: Store, source: number, id: string, set: Row = {}): Promise<number> =>
  seedRow(store, 'investment_rows', { source_no: source, id, ...recordDefaults, ...set }, 'row_no');

export const seedIdentity = (store: Store, row: number, set: Row): Promise<number> =>
  seedRow(store, 'identity_rows', { row_no: row, ...set });

export const seedHistory = (store: Store, source: number, id: string, set: Row): Promise<number> =>
  seedRow(store, 'history_rows', { source_no: source, id, ...recordDefaults, ...set }, 'history_no');

/** Returns a list of numbers in the format of the database's column. */
export const numbersIn = (store: Store, numbers: readonly number[]): string =>
  store.kind === 'sqlite' ? JSON.stringify(numbers) : `{${numbers.join(',')}}`;
