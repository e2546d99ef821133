import { closest } from '../domain/closest.js';
import { Fault } from '../domain/fault.js';
import type { RelationEntry } from '../store/dictionary/column.js';
import { plain } from '../store/dictionary/data-dictionary.js';
import { publicRelations } from '../store/dictionary/relations.js';
import { describeRelation } from '../store/dictionary/render.js';
import { moneyViewName, moneyViews, typedViews } from '../store/dictionary/typed-views.js';

/** Relations that name people or forgotten ids; the masked query refuses them. */
const personal = new Set([
  ...typedViews.filter((view) => view.identity).map(({ name }) => name),
  'forgotten',
]);

const note = ({ name }: RelationEntry, identity: boolean): string =>
  !identity && personal.has(name) ? ' Refused while names are masked.' : '';

/** Returns the names of all relations that users may rely on. */
export const relationNames: readonly string[] = publicRelations.map(({ name }) => name);

/** Returns one line for each relation. */
export function schemaOverview(identity: boolean): string {
  return [
    'The tables and views, and what they mean. Call describe_schema with names to see their columns.',
    '',
    ...publicRelations.map(
      (relation) =>
        `- ${relation.name} (${relation.kind}): ${plain(relation.meaning)}${note(relation, identity)}`,
    ),
    '',
    `Views with amounts also exist in whole units: ${moneyViews.map(({ name }) => moneyViewName(name)).join(', ')} on SQLite, the schema analytics on PostgreSQL.`,
  ].join('\n');
}

/** Returns the columns of these relations as tables. Throws `usage` for a name that does not exist. */
export function schemaOf(names: readonly string[], identity: boolean): string {
  return names
    .map((name) => {
      const relation = publicRelations.find((one) => one.name === name);
      if (relation === undefined) throw unknownRelation(name);
      return `${describeRelation(relation)}${note(relation, identity).trim()}`.trimEnd();
    })
    .join('\n\n');
}

function unknownRelation(name: string): Fault {
  const near = closest(name, relationNames);
  return new Fault('usage', `there is no table or view called ${JSON.stringify(name)}`, {
    hint: near === undefined ? 'describe_schema without names lists them all' : `did you mean ${near}?`,
  });
}
