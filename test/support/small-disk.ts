import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that really runs full. */
export interface SmallDisk {
  readonly folder: string;
  /** Fills it up to this many bytes. */
  leave(bytes: number): void;
  makeRoom(): void;
  /** Nothing may use it any more. */
  close(): void;
}

/** What a test says once where it may not mount. */
export const noSmallDisk = 'No right to mount a file system here: the full disk is simulated.';

/** Mounts a file system in memory. Returns null where this process may not mount. */
export function openSmallDisk(megabytes: number): SmallDisk | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-disk-'));
  const { status } = spawnSync('mount', [
    ...['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`],
    ...['rosterd-test', folder],
  ]);
  if (status !== 0) {
    rmdirSync(folder);
    return null;
  }
  chmodSync(folder, 0o755);
  const ballast = join(folder, 'ballast');
  const unmount = () => void spawnSync('umount', ['--lazy', folder]);
  process.once('exit', unmount);
  return {
    folder,
    leave: (bytes) => {
      rmSync(ballast, { force: true });
      const { bavail, bsize } = statfsSync(folder);
      const filled = bavail * bsize - bytes;
      if (filled > 0) writeFileSync(ballast, Buffer.alloc(filled));
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    close: () => {
      process.off('exit', unmount);
      unmount();
      rmdirSync(folder);
    },
  };
}
