import type { ColumnType, RelationEntry } from './column.js';
import { innerRelations } from './inner-relations.js';
import { publicRelations } from './relations.js';
import { moneyViewName, moneyViews } from './typed-views.js';

const typeWords: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  integer: 'integer',
  cents: 'integer, cents',
  flag: 'integer, 0 or 1',
  time: 'text, UTC time',
  day: 'text, UTC day',
  decimal: 'text, decimal',
  json: 'text, JSON',
};

const opening = `# Data dictionary

The tables and views of the mirror and what they mean. Names and columns do not change within a major version, but
columns may be added, so name the ones you select. This page is generated from \`src/store/dictionary/\`; a test keeps
it up to date.

- **Times** are ISO 8601 text in UTC with three digits of milliseconds: text order is time order.
- **Amounts** are whole cents in 64-bit integers. Never add two currencies.
- **Decimals** are text, exactly as the platform sent them.
- **Flags** are 0 or 1.
- **Identity** (who a person is) is only in \`identities\`, \`roster\` and the bodies of \`quarantine\`.
`;

/** Returns the text of `schema/dictionary.md`. */
export function renderDictionary(): string {
  const inner = Object.entries(innerRelations).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  return [
    opening,
    ...publicRelations.map(describeRelation),
    typedSection(),
    '## Internal tables\n',
    'These are not public; any version may change them.\n',
    '| Table | Content |',
    '|---|---|',
    ...inner,
    '',
  ].join('\n');
}

function typedSection(): string {
  return [
    '## Typed views\n',
    'The same views with the types that tools for analysts expect. They are made from this dictionary at each upgrade.\n',
    '- **PostgreSQL:** the schema `analytics` (`SCHEMA_analytics` for a mirror in another schema than `public`) has',
    '  every view above except `quarantine`. A time is a `timestamptz`, a day a `date`, a decimal a `numeric`; the stored',
    '  text is beside it, such as `applied_at_text`. Beside each amount in cents is the amount in whole units as',
    '  `numeric`, such as `committed`. Every table, view and column has a comment with its meaning, tables of the schemas of identity',
    '  and of the vault too.',
    `- **SQLite:** ${moneyViews.map(({ name }) => `\`${moneyViewName(name)}\``).join(', ')} have the columns of the views that`,
    '  they are named after, and beside each amount in cents the amount in whole units, such as `committed`, as a',
    '  floating-point number: show it, and add up the cents.',
    '',
  ].join('\n');
}

/** Returns one relation with its columns as a table in Markdown. */
export function describeRelation({ name, kind, meaning, columns }: RelationEntry): string {
  const rows = columns.map(
    (entry) =>
      `| \`${entry.name}\` | ${typeWords[entry.type]} | ${entry.meaning} | ${entry.nullWhen ?? 'never'} |`,
  );
  return [
    `## \`${name}\` (${kind})\n`,
    `${meaning}\n`,
    '| Column | Type | Meaning | Null when |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
