import { readFileSync } from 'node:fs';
import { Fault } from '../../../domain/fault.js';
import { sqlName } from '../../../domain/sql-name.js';
import { schemaPath } from '../../../runtime/package-root.js';
import { shippedMigrations } from '../../migrate.js';

/** What the server says about a row that a constraint refuses. Its text is left out, because it quotes the row. */
interface Refused {
  readonly code: string;
  readonly schema?: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
}

/**
 * Returns the fault for a row that was refused by a constraint, a unique index or a column that an administrator added to a table of
 * the mirror; null for one of the mirror's own, which only a defect can violate.
 */
export function foreignConstraint(error: Error & Refused, url: string): Fault | null {
  const { code, schema, table, column, constraint } = error;
  // The table of migrations is not made by one.
  if (schema === undefined || table === undefined || table === 'migrations') return null;
  const on = `${sqlName(schema)}.${sqlName(table)}`;
  if (constraint !== undefined && !isOwnConstraint(constraint, table))
    return fault(url, `the constraint or unique index ${constraint} of ${table}`, code, [
      `ALTER TABLE ${on} DROP CONSTRAINT ${sqlName(constraint)}`,
      `DROP INDEX ${sqlName(schema)}.${sqlName(constraint)}`,
    ]);
  if (constraint === undefined && column !== undefined && !isOwnWord(column))
    return fault(url, `the column ${column} of ${table}, which has no default`, code, [
      `ALTER TABLE ${on} ALTER ${sqlName(column)} DROP NOT NULL`,
    ]);
  return null;
}

const fault = (url: string, what: string, code: string, statements: readonly string[]): Fault =>
  // Without the error as its cause: its detail quotes the row.
  new Fault('database_unusable', `${url} refuses a row because of ${what} (${code})`, {
    hint: `That is not part of rosterd. If you do not need it: ${statements.join(', or ')}. A daemon then goes on by itself.`,
  });

/** The server names constraints without a name after their table. All others are named in the files of the schema. */
const isOwnConstraint = (name: string, table: string): boolean =>
  new RegExp(`^${table}_\\w*(?:pkey|key|fkey|check|not_null)\\d*$`).test(name) || isOwnWord(name);

function isOwnWord(name: string): boolean {
  own ??= new Set(
    [
      ...shippedMigrations('postgres').map(({ sql }) => sql),
      readFileSync(schemaPath('postgres', 'indexes.sql'), 'utf8'),
    ]
      .join('\n')
      .replace(/--.*$/gm, '')
      .match(/\w+/g),
  );
  return own.has(name);
}

let own: ReadonlySet<string> | undefined;
