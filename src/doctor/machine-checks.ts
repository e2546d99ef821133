import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { shellWord } from '../domain/shell-word.js';
import { nodeTooOld, testedNodeLines } from '../runtime/supported-node.js';
import { type Check, fail, pass, skip, warn } from './check.js';

/** Other Node lines probably work, because the SQLite driver uses Node-API, but no test runs on them. */
export function nodeCheck(version: string): Check {
  const refusal = nodeTooOld(version);
  if (refusal !== null) return fail('node', refusal.message, refusal.hint);
  return testedNodeLines.includes(Number.parseInt(version, 10))
    ? pass('node', `Node ${version}`)
    : warn('node', `Node ${version} is not a tested line (${testedNodeLines.join(', ')})`, 'nvm install 24');
}

const megabyte = 1_000_000;

export interface DiskRoom {
  readonly freeBytes: number;
}

export async function roomBeside(file: string): Promise<DiskRoom> {
  const { bavail, bsize } = await statfs(dirname(file));
  return { freeBytes: bavail * bsize };
}

/** A migration's backup and a scrub each write a copy of the file; below 100 MB even the log has no room. */
export function diskCheck(file: string, fileBytes: number, { freeBytes }: DiskRoom): Check {
  const name = 'database.disk';
  const free = `${Math.round(freeBytes / megabyte)} MB free beside the database`;
  const mend = `make room: df -h ${shellWord(dirname(file))}`;
  if (freeBytes < 100 * megabyte) return fail(name, `only ${free}`, mend);
  return freeBytes < fileBytes + 100 * megabyte
    ? warn(name, `${free}, too little for a copy of it (erasures and upgrades make one)`, mend)
    : pass(name, free);
}

export const noDisk = (): Check => skip('database.disk', 'the folder of the database is not there yet');
