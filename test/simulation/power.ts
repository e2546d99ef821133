import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from './chance.js';
import type { Frames } from './database-watch.js';

export type Death =
  /** The process is gone; what it wrote is there. */
  | 'kill'
  /** The same, and the shared memory went with it. */
  | 'kill_without_shm'
  /** The power went: what was not synced may be missing. */
  | 'power'
  /** … and the last thing written is half there. */
  | 'torn';

const walHeader = 32;
const frameHeader = 24;

/**
 * Copies a folder as it lies, which is what the next process finds. Closing the database first would check its
 * log in and hide the fault.
 */
export function copyAsItLies(
  from: string,
  to: string,
  death: Death,
  floor: Frames | null,
  chance: Chance,
): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(from)) {
    if (name.endsWith('-shm') && death !== 'kill') continue;
    const source = join(from, name);
    const target = join(to, name);
    if (!name.endsWith('-wal')) copyFileSync(source, target);
    else writeFileSync(target, cutLog(readFileSync(source), death, floor, chance), { mode: 0o600 });
  }
  // A lock, and the right to remove one, name their process by number; this one's is gone, and numbers that high are
  // nobody's. What an earlier power cut left empty names nobody.
  for (const name of readdirSync(to).filter((one) => one.includes('.lock'))) {
    const text = readFileSync(join(to, name), 'utf8');
    if (text === '') continue;
    const holder = JSON.parse(text) as object;
    writeFileSync(join(to, name), JSON.stringify({ ...holder, pid: 4_190_000 }), { mode: 0o600 });
  }
}

/** Synced frames stay. Behind them the log ends anywhere, cleanly or in the middle of a frame. */
function cutLog(log: Buffer, death: Death, floor: Frames | null, chance: Chance): Buffer {
  if ((death !== 'power' && death !== 'torn') || floor === null || log.length < walHeader) return log;
  const salt = log.readBigUInt64BE(16);
  const frame = frameHeader + log.readUInt32BE(8);
  // The log began anew since: what was synced is in the database, and this log's own start is the floor.
  const kept = swapped(floor.salt) === salt || floor.salt === salt ? floor.count : 0;
  let frames = 0;
  while (
    walHeader + (frames + 1) * frame <= log.length &&
    log.readBigUInt64BE(walHeader + frames * frame + 8) === salt
  )
    frames += 1;
  if (frames <= kept) return log;
  const whole = chance.between(kept, frames - 1);
  const end = walHeader + whole * frame;
  return death === 'power' ? log.subarray(0, end) : log.subarray(0, end + chance.between(1, frame - 1));
}

function swapped(salt: bigint): bigint {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(salt);
  return bytes.readBigUInt64BE();
}
