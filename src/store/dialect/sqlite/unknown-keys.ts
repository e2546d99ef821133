import { documentedKeys } from '../../../domain/investment.js';
import { separateUnknownKeys } from '../../unknown-keys.js';

/** Returns the statement of `separateUnknownKeys` for the rows of `table` that `condition` selects. */
export const stripUnknownKeys = (table: string, condition: string): string =>
  separateUnknownKeys(table, condition, documentedOnly);

/** `fullkey` is the path of a key; `->` returns its value as JSON, so true stays true. */
function documentedOnly(column: keyof typeof documentedKeys): string {
  const keys = documentedKeys[column].map((key) => `'${key}'`).join(', ');
  return `(SELECT json_group_array(json(entry)) FROM (
    SELECT (SELECT json_group_object(k.key, json(e.value -> k.fullkey)) FROM json_each(e.value) k
            WHERE k.key IN (${keys}) AND k.type NOT IN ('object', 'array')) AS entry
    FROM json_each(${column}) e WHERE e.type = 'object'))`;
}
