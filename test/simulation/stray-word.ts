import { existsSync, readFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';

/** Where a person may stand by right. */
const places = [
  "SELECT coalesce(name, '') || ' ' || coalesce(email, '') || ' ' || coalesce(message, '') || ' ' || coalesce(extra, '') FROM identity_rows",
  "SELECT coalesce(identity, '') || ' ' || coalesce(extra, '') FROM staged_rows",
  "SELECT coalesce(body, '') FROM quarantine_rows",
  "SELECT coalesce(body, '') FROM webhook_inbox",
];

/** Lengths are fixed, so that words standing side by side in a page are told apart. */
export const personWord = /(?:name|message)-[a-z0-9]{10}|[a-z0-9]{10}@mail\.invalid/g;

/** Right after a scrub every word about a person in the bytes of the database stands in one of its rows as well. */
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
