import { documentedKeys } from '../../../domain/investment.js';
import { separateUnknownKeys } from '../../unknown-keys.js';

/** Returns the statement of `separateUnknownKeys` for the rows of `table` that `condition` selects. */
export const stripUnknownKeys = (table: string, condition: string): string =>
  separateUnknownKeys(table, condition, documentedOnly);

/** Of the type json, which keeps the order of the keys and the text of the values as stored; jsonb does not. */
function documentedOnly(column: keyof typeof documentedKeys): string {
  const keys = documentedKeys[column].map((key) => `'${key}'`).join(', ');
  return `(SELECT '[' || coalesce(string_agg(
      (SELECT '{' || coalesce(string_agg(to_json(k.key)::text || ':' || k.value::text, ',' ORDER BY k.n), '') || '}'
       FROM json_each(e.value) WITH ORDINALITY AS k(key, value, n)
       WHERE k.key IN (${keys}) AND json_typeof(k.value) NOT IN ('object', 'array')), ',' ORDER BY e.n), '') || ']'
    FROM json_array_elements(${column}::json) WITH ORDINALITY AS e(value, n) WHERE json_typeof(e.value) = 'object')`;
}
