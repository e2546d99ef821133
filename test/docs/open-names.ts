import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import Sqlite from 'better-sqlite3';

/** Enough names to recognise a copy. Searching each file for every name of a mirror would take long. */
const namesMax = 50;

/** Returns the files below a folder that contain names from its mirrors and that other users can read or write. */
export function openNames(folder: string): readonly string[] {
  const files = filesIn(folder);
  const names = [...new Set(files.filter((file) => file.endsWith('.db')).flatMap(namesIn))];
  return files
    .filter((file) => (statSync(file).mode & 0o077) !== 0)
    .filter((file) => {
      const bytes = readFileSync(file);
      return names.some((name) => bytes.includes(name));
    })
    .map((file) => relative(folder, file));
}

/** Follows no links: `recursive` of Node does, and would lead to the packages, where other runs keep short-lived files. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : [];
  });

function namesIn(file: string): readonly string[] {
  const raw = new Sqlite(file, { readonly: true });
  try {
    const sql = 'SELECT DISTINCT name FROM identities WHERE length(name) > 5 ORDER BY name LIMIT ?';
    return raw.prepare<[number], string>(sql).pluck().all(namesMax);
  } catch {
    // The file is not a mirror.
    return [];
  } finally {
    raw.close();
  }
}
