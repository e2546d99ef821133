import { existsSync, readFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';

/** The columns where personal data may be stored. */
const places = [
  "SELECT coalesce(name, '') || ' ' || coalesce(email, '') || ' ' || coalesce(message, '') || ' ' || coalesce(extra, '') FROM identity_rows",
  "SELECT coalesce(identity, '') || ' ' || coalesce(extra, '') FROM staged_rows",
  "SELECT coalesce(body, '') FROM quarantine_rows",
  "SELECT coalesce(body, '') FROM webhook_inbox",
];

/** Lengths are fixed, so that adjacent words in a page can be told apart. */
export const personWord = /(?:name|message)-[a-z0-9]{10}|[a-z0-9]{10}@mail\.invalid/g;

/**
 * Returns a word about a person that is in the bytes of the database but in none of its rows, or null. Valid right
 * after a scrub.
 */
export function strayWord(file: string): string | null {
  const database = new Sqlite(file, { readonly: true, timeout: 0 });
  const rows = places.flatMap((sql) => database.prepare<[], string>(sql).pluck().all());
  database.close();
  const known = new Set(rows.flatMap((text) => text.match(personWord) ?? []));
  for (const ending of ['', '-wal']) {
    if (!existsSync(`${file}${ending}`)) continue;
    for (const [word] of readFileSync(`${file}${ending}`, 'latin1').matchAll(personWord))
      if (!known.has(word))
        return `${word} stands in ${ending || 'the file'} and in no row after a scrub that was done`;
  }
  return null;
}
