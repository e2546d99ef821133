import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from './chance.js';
import { type Frames, framesOf } from './database-watch.js';

export type Death =
  /** The process ends; its writes survive. */
  | 'kill'
  /** The same, and the shared memory is lost as well. */
  | 'kill_without_shm'
  /** A power cut: unsynced data may be missing. */
  | 'power'
  /** A power cut that leaves the last write incomplete. */
  | 'torn';

const gonePid = 4_190_000;

const walHeader = 32;
const frameHeader = 24;

/**
 * Copies a folder as it is, which is what the next process finds. Closing the database first would checkpoint its
 * WAL and hide the fault.
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
    else {
      const frames = framesOf(source.slice(0, -'-wal'.length));
      writeFileSync(target, cutLog(readFileSync(source), death, { floor, frames }, chance), { mode: 0o600 });
    }
  }
  // A lock, the right to remove one, and a journal of deliveries name their process by pid. The process is gone here, so
  // the copy gets a pid too high to exist. A lock file emptied by an earlier power cut names none.
  for (const name of readdirSync(to).filter((one) => one.includes('.lock'))) {
    const text = readFileSync(join(to, name), 'utf8');
    if (text === '') continue;
    const holder = JSON.parse(text) as object;
    writeFileSync(join(to, name), JSON.stringify({ ...holder, pid: gonePid }), { mode: 0o600 });
  }
  for (const name of readdirSync(to).filter((one) => one.includes('-deliveries-')))
    renameSync(join(to, name), join(to, name.replace(/%3A\d+%3A/, `%3A${gonePid}%3A`)));
}

/** Synced frames stay. After them the WAL ends anywhere, at a frame boundary or within a frame. */
function cutLog(
  log: Buffer,
  death: Death,
  { floor, frames: present }: { readonly floor: Frames | null; readonly frames: Frames },
  chance: Chance,
): Buffer {
  if ((death !== 'power' && death !== 'torn') || floor === null || log.length < walHeader) return log;
  const salt = log.readBigUInt64BE(16);
  const frame = frameHeader + log.readUInt32BE(8);
  // The WAL restarted since: synced frames are in the database, and the floor is the start of this WAL.
  const isOfThisLog = (frames: Frames) => swapped(frames.salt) === salt || frames.salt === salt;
  // What a checkpoint copied into the file was synced by it.
  const kept = Math.max(isOfThisLog(floor) ? floor.count : 0, isOfThisLog(present) ? present.copied : 0);
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
