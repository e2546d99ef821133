import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { type Control, controlOf } from '../support/control-sandbox.js';
import { placeMigrated } from '../support/migrated-file.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';
import { fakeIo, rosterd } from './fake-io.js';

export interface FilledMirror {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly company: Sandbox['ready']['companies'][number];
  /** Runs a command line in the folder, with the process's own clock. */
  io(options?: Parameters<typeof fakeIo>[0]): ReturnType<typeof fakeIo>;
  run(
    args: readonly string[],
    options?: Parameters<typeof fakeIo>[0],
  ): Promise<{ code: number; out: string; err: string }>;
  readonly control: Control;
  sync(...flags: readonly string[]): Promise<void>;
  /** Opens the file of the mirror beside rosterd while `work` reads or damages it. */
  inFile<Result>(work: (raw: Sqlite.Database) => Result): Result;
  close(): Promise<void>;
}

/** A platform in this process, with a configuration and a mirror made by the commands. */
export async function filledMirror(records = 40): Promise<FilledMirror> {
  const sandbox = await startSeededSandbox({ companies: 1, records, limits: false });
  const world = mirrorOf(sandbox);
  placeMigrated(join(world.folder, 'mirror.db'));
  return {
    ...world,
    async close() {
      await sandbox.close();
      await world.close();
    },
  };
}

/** A copy of a mirror that no command uses now, in a folder with a configuration. Both mirror the same platform. */
export function copiedMirror({ folder, sandbox }: FilledMirror): FilledMirror {
  const world = mirrorOf(sandbox);
  copyFileSync(join(folder, 'mirror.db'), join(world.folder, 'mirror.db'));
  return world;
}

/** The configuration of a mirror of the sandbox in a new folder. `close` deletes the folder. */
function mirrorOf(sandbox: Sandbox): FilledMirror {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-cli-'));
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('a sandbox without a company');
  const config = {
    platform: { baseUrl: sandbox.url, headerPrefix: 'Service', requestIdHeader: 'X-Service-Request-Id' },
    database: 'sqlite:./mirror.db',
    sources: [{ name: 'acme', token: { env: 'ACME' }, company: company.id }],
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const io: FilledMirror['io'] = (options) =>
    fakeIo({ cwd: folder, env: { ACME: company.token }, clock: systemClock, ...options });
  const run: FilledMirror['run'] = (args, options) => rosterd(args, io(options));
  return {
    folder,
    sandbox,
    company,
    io,
    run,
    control: controlOf(sandbox),
    async sync(...flags) {
      const { code, err } = await run(['sync', ...flags]);
      if (code !== 0) throw new Error(`sync ended with ${code}: ${err}`);
    },
    inFile(work) {
      const raw = new Sqlite(join(folder, 'mirror.db'));
      try {
        return work(raw);
      } finally {
        raw.close();
      }
    },
    async close() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
