import { documentedQueries } from '../documented-queries.js';
import type { RelationEntry } from './column.js';
import { innerRelations } from './inner-relations.js';
import { publicRelations } from './relations.js';

/** Datasette calls a database by the name of its file: `mirror.db`. */
const databaseName = 'mirror';

/** Columns with few values, by which people narrow what they look at. */
const facets = ['source', 'status', 'currency', 'kind', 'outcome', 'state'];

/** The newest first, where a relation has a time or a number to go by. */
const newestBy = ['applied_at', 'seq', 'tick', 'notice', 'quarantine_no', 'inbox_no', 'erasure'];

/**
 * The text of `schema/datasette.json`: `datasette data/mirror.db --metadata schema/datasette.json` shows what every
 * table and column means, hides what is not part of the contract, and has the documented queries ready to run.
 */
export function renderDatasette(): string {
  const document = {
    title: 'Investor records',
    description:
      'A mirror kept by rosterd. Amounts are whole cents, never to be added over currencies; times are UTC.',
    databases: {
      [databaseName]: {
        tables: {
          ...Object.fromEntries(publicRelations.map((relation) => [relation.name, tableOf(relation)])),
          ...Object.fromEntries(
            Object.entries(innerRelations).map(([name, meaning]) => [
              name,
              { description: plain(meaning), hidden: true },
            ]),
          ),
        },
        queries: Object.fromEntries(
          documentedQueries.map(({ name, question, sql, identity }) => [
            name,
            { title: question, description: identity ? 'Names people.' : 'Names nobody.', sql },
          ]),
        ),
      },
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function tableOf({ meaning, columns }: RelationEntry) {
  const names = columns.map(({ name }) => name);
  const newest = newestBy.find((name) => names.includes(name));
  const found = facets.filter((name) => names.includes(name));
  return {
    description: plain(meaning),
    ...(newest === undefined ? {} : { sort_desc: newest }),
    ...(found.length === 0 ? {} : { facets: found }),
    columns: Object.fromEntries(
      columns.map(({ name, meaning: means, nullWhen }) => [
        name,
        plain(nullWhen === undefined ? means : `${means}. Null: ${nullWhen}`),
      ]),
    ),
  };
}

/** Shown as it is, without Markdown. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}
