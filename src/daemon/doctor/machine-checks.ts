import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Check, fail, pass, skip, warn } from './check.js';

/** As package.json has it: below it parts of the language are missing, above it the SQLite driver was never tried. */
export function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const known = (major === 20 && minor >= 19) || major === 21 || major === 22;
  return known
    ? pass('node', `Node ${version}`)
    : fail('node', `Node ${version} is not one rosterd runs on (20.19 to 22)`, 'nvm install 22');
}

const megabyte = 1_000_000;

export interface DiskRoom {
  readonly freeBytes: number;
}

export async function roomBeside(file: string): Promise<DiskRoom> {
  const { bavail, bsize } = await statfs(dirname(file));
  return { freeBytes: bavail * bsize };
}

/** A migration's backup and a scrub each write the file once more; below 100 MB even the log has no room. */
export function diskCheck(file: string, fileBytes: number, { freeBytes }: DiskRoom): Check {
  const name = 'database.disk';
  const free = `${Math.round(freeBytes / megabyte)} MB free beside the database`;
  const mend = `make room: df -h ${dirname(file)}`;
  if (freeBytes < 100 * megabyte) return fail(name, `only ${free}`, mend);
  return freeBytes < fileBytes + 100 * megabyte
    ? warn(name, `${free}, too little for a copy of it (erasures and upgrades make one)`, mend)
    : pass(name, free);
}

export const noDisk = (): Check => skip('database.disk', 'the folder of the database is not there yet');
