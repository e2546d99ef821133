import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { testedNodeLines } from '../../src/runtime/supported-node.js';
import { flag, readOptions } from '../support/options.js';
import { run, TrialFailed } from './trial/command.js';
import { tryPackage } from './trial/install.js';
import { pack } from './trial/pack.js';
import { nodeLine, npmLine } from './trial/registry.js';

const npmLines = [10, 11, 12];
const tooOld = 20;

interface Combination {
  readonly name: string;
  readonly path: readonly string[];
  readonly npm: readonly string[];
  readonly npx: readonly string[];
  readonly ignoreScripts: boolean;
}

async function combinations(short: boolean): Promise<readonly Combination[]> {
  const own = { path: [dirname(process.execPath)], npm: ['npm'], npx: ['npx'], ignoreScripts: true };
  if (short) return [{ name: `Node ${process.versions.node}, this npm, --ignore-scripts`, ...own }];
  const found: Combination[] = [];
  for (const node of testedNodeLines) {
    const path = [await nodeLine(node)];
    for (const npm of npmLines)
      for (const ignoreScripts of [false, true]) {
        const name = `Node ${node}, npm ${npm}${ignoreScripts ? ', --ignore-scripts' : ''}`;
        found.push({ name, path, ...(await npmLine(npm)), ignoreScripts });
      }
  }
  return found;
}

/** A user with an old Node gets the same clear error from every command. */
async function tryTooOld(tarball: string, folder: string): Promise<readonly string[]> {
  const place = { cwd: folder, path: [await nodeLine(tooOld)] };
  const { npm, npx } = await npmLine(10);
  const installed = await run(
    [...npm, 'install', '--no-audit', '--prefer-offline', '--prefix', folder, tarball],
    place,
  );
  if (installed.code !== 0) return [`npm install ended with ${installed.code}:\n${installed.said}`];
  const { code, said } = await run([...npx, 'rosterd', 'status'], place);
  const sentence =
    /^error: Node 20\.\d+\.\d+ is too old for rosterd, which needs Node [\d.]+ or later\nTry: .+\n$/;
  return code === 2 && sentence.test(said) ? [] : [`rosterd status ended with ${code}:\n${said}`];
}

async function attempt(name: string, work: () => Promise<readonly string[]>): Promise<boolean> {
  const began = performance.now();
  const wrong = await work();
  const took = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${wrong.length === 0 ? 'good' : 'WRONG'}  ${name} (${took} s)`);
  for (const one of wrong) console.error(one);
  return wrong.length === 0;
}

const { short } = readOptions({
  name: 'npm run test:package',
  about: `Packs the clone and uses the package as a new user would, in an empty folder: installed with and without scripts by
three lines of npm, on every supported line of Node.`,
  options: { short: flag('one combination: this Node, this npm, no scripts') },
});
const folder = mkdtempSync(join(tmpdir(), 'rosterd-packed-'));
try {
  const tarball = await pack(folder);
  const all = await combinations(short);
  let good = 0;
  for (const [at, { name, ...combination }] of all.entries())
    if (await attempt(name, () => tryPackage({ ...combination, tarball, types: at === 0 }))) good += 1;
  const refused = short || (await attempt(`Node ${tooOld} is refused`, () => tryTooOld(tarball, folder)));
  console.log(`${good} of ${all.length} combinations are good`);
  if (good < all.length || !refused) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof TrialFailed)) throw error;
  console.error(`error: ${error.message}\nTry: ${error.next}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
