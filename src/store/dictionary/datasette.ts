import { defined } from '../../domain/defined.js';
import { documentedQueries } from '../documented-queries.js';
import type { RelationEntry } from './column.js';
import { plain } from './data-dictionary.js';
import { innerRelations } from './inner-relations.js';
import { publicRelations } from './relations.js';
import { moneyViewName, moneyViews } from './typed-views.js';

/** Datasette names a database after its file: `mirror.db`. */
const databaseName = 'mirror';

/** Columns with few distinct values, offered as filters. */
const facets = ['source', 'status', 'currency', 'kind', 'outcome', 'state'];

/** Columns to sort by, newest first. The first one that a relation has is used. */
const newestBy = ['applied_at', 'seq', 'tick', 'notice', 'quarantine_no', 'inbox_no', 'erasure'];

/**
 * Returns the text of `schema/datasette.json`. With it, `datasette data/mirror.db --metadata schema/datasette.json`
 * describes every public table and column, hides internal tables and offers the documented queries.
 */
export function renderDatasette(): string {
  const document = {
    title: 'Investor records',
    description:
      'A mirror kept by rosterd. Amounts are whole cents; never add amounts of different currencies. Times are UTC.',
    databases: {
      [databaseName]: {
        tables: {
          ...Object.fromEntries(publicRelations.map((relation) => [relation.name, tableOf(relation)])),
          ...Object.fromEntries(
            moneyViews.map(({ name }) => [
              moneyViewName(name),
              { description: `The view ${name} with its amounts in whole units beside the cents` },
            ]),
          ),
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
            {
              title: question,
              description: identity ? 'Contains names of people.' : 'Contains no names of people.',
              sql,
            },
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
    ...defined({ sort_desc: newest }),
    ...(found.length === 0 ? {} : { facets: found }),
    columns: Object.fromEntries(
      columns.map(({ name, meaning: means, nullWhen }) => [
        name,
        plain(nullWhen === undefined ? means : `${means}. Null: ${nullWhen}`),
      ]),
    ),
  };
}
