import { closest } from '../domain/closest.js';
import type { Place } from '../domain/fault.js';
import { dictionaryRows } from './dictionary/data-dictionary.js';

/** What is wrong with a statement that does not compile: where, and which name was probably meant. */
export interface Mistake {
  readonly place: Place | null;
  readonly suggestion: string | null;
}

const columnsOf = new Map<string, string[]>();
for (const { relation, column_name: column } of dictionaryRows) {
  const columns = columnsOf.get(relation) ?? [];
  if (column !== null) columns.push(column);
  columnsOf.set(relation, columns);
}
const relations = [...columnsOf.keys()];

/** The words of both databases about a name that does not exist. */
const noColumn =
  /^no such column: (?:[^\s.]+\.)*"?([^\s."]+)"?|^column "?(?:[^\s."]+\.)*([^\s."]+)"? does not exist/;
const noRelation =
  /^no such table: (?:[^\s.]+\.)*"?([^\s."]+)"?|^relation "(?:[^\s."]+\.)*([^\s."]+)" does not exist/;
const otherName =
  /^ambiguous column name: (?:\S+\.)?(\S+)|^no such function: (\S+)|^column reference "([^"]+)" is ambiguous|^missing FROM-clause entry for table "([^"]+)"|^function ([^\s(]+)\(/;

/** Explains a complaint of the database. `at`: where it says the mistake is, in characters from the beginning. */
export function mistakeIn(statement: string, complaint: string, at?: number): Mistake {
  const column = wordOf(noColumn, complaint);
  const relation = wordOf(noRelation, complaint);
  const name = column ?? relation ?? wordOf(otherName, complaint);
  const suggestion =
    column !== null ? columnMeant(column, statement) : relation !== null ? relationMeant(relation) : null;
  return { place: placeOf(statement, name, at), suggestion };
}

function wordOf(pattern: RegExp, complaint: string): string | null {
  const match = pattern.exec(complaint);
  return match?.slice(1).find((group) => group !== undefined) ?? null;
}

function relationMeant(name: string): string | null {
  if (relations.includes(name))
    return `Every mirror of this version has ${name}. \`rosterd sync\` makes one or brings one up to date; on PostgreSQL, the search_path has to name its schema.`;
  const meant = closest(name, relations);
  return meant === undefined ? null : `Did you mean ${meant}?`;
}

/** Looks in the tables of the statement first, then in all of them. */
function columnMeant(name: string, statement: string): string | null {
  const words = new Set(
    code(statement)
      .toLowerCase()
      .match(/[\w$]+/g),
  );
  const named = relations.filter((relation) => words.has(relation));
  const meant = closest(
    name,
    named.flatMap((relation) => columnsOf.get(relation) ?? []),
  );
  if (meant !== undefined && meant !== name) return `Did you mean ${meant}?`;
  const elsewhere = relations.filter(
    (relation) => columnsOf.get(relation)?.includes(name.toLowerCase()) === true,
  );
  if (elsewhere.length > 0) return `${name} is a column of ${elsewhere.slice(0, 4).join(', ')}.`;
  const anywhere = closest(name, [...columnsOf.values()].flat());
  return anywhere === undefined ? null : `Did you mean ${anywhere}?`;
}

function placeOf(statement: string, name: string | null, at: number | undefined): Place | null {
  if (at !== undefined) {
    const word = /^[\w$]+/.exec(statement.slice(at))?.[0] ?? statement.slice(at, at + 1);
    return { from: Math.min(at, statement.length), length: Math.max(1, word.length) };
  }
  if (name === null) return null;
  const text = code(statement).toLowerCase();
  const wanted = name.toLowerCase();
  for (let from = text.indexOf(wanted); from !== -1; from = text.indexOf(wanted, from + 1))
    if (!isWord(text[from - 1]) && !isWord(text[from + wanted.length]))
      return { from, length: wanted.length };
  return null;
}

const isWord = (character: string | undefined): boolean => character !== undefined && /[\w$]/.test(character);

/** Returns the statement with the characters of texts and comments blanked, so that each position stays. */
function code(statement: string): string {
  return statement.replace(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (part) =>
    ' '.repeat(part.length),
  );
}
