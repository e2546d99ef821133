import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Io } from '../../src/cli/io.js';
import { systemClock } from '../../src/runtime/clock.js';
import { location, Visitor } from '../conformance/credentials.js';
import type { RunningPlatform } from '../conformance/running-platform.js';
import { fakeIo, rosterd } from './fake-io.js';

export interface Desk {
  readonly folder: string;
  write(file: string, text: string, mode?: number): string;
  io(more?: Partial<Io> & { readonly tty?: boolean }): ReturnType<typeof fakeIo>;
}

/** A working folder, the process's own clock and an empty environment. */
export function desk(): Desk {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-connect-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return {
    folder,
    write(file, text, mode = 0o644) {
      const path = join(folder, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { mode });
      return path;
    },
    io: (more = {}) => fakeIo({ cwd: folder, clock: systemClock, ...more }),
  };
}

export interface Session {
  readonly io: ReturnType<typeof fakeIo>;
  readonly ended: ReturnType<typeof rosterd>;
  /** The link that the command printed. */
  link(): Promise<string>;
}

export function start(args: readonly string[], io: ReturnType<typeof fakeIo>): Session {
  const ended = rosterd(args, io);
  return {
    io,
    ended,
    link: async () => {
      for (let tries = 0; tries < 500; tries += 1) {
        const link = /^ {2}(http\S+)$/m.exec(io.err())?.[1];
        if (link !== undefined) return link;
        const over = await Promise.race([ended, systemClock.wait(10)]);
        if (over !== undefined) throw new Error(`ended without a link: ${over.code} ${over.err}`);
      }
      throw new Error(`no link: ${io.err()}`);
    },
  };
}

/** Signs in on the consent page and submits it. Returns the address the browser is redirected to. */
export async function consent(
  world: RunningPlatform,
  link: string,
  email: string,
  answer: 'approve' | 'deny' = 'approve',
): Promise<URL> {
  const visitor = new Visitor(world);
  await visitor.signIn(link, email);
  return location(await visitor.answer(link, { action: answer }));
}
