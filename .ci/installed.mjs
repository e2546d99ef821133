// npm runs this script, `dependencies`, after it installs packages in a clone. It exists only for the root package, so
// users of the package never run it.
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, reportBuildFailure } from './build.mjs';
import { root } from './root.mjs';

linkNode();
await ensureBuilt().catch(reportBuildFailure);

/**
 * npm 11 and later do this themselves; npm 10 omits commands of packages that only a local package depends on. The registry
 * names the build for Apple's processors in its own way.
 */
function linkNode() {
  const bin = join(root, 'node_modules', '.bin');
  const system = `${process.platform}-${process.arch}`;
  const targets = [`node-${system}`, `node-bin-${system}`].map((name) => join('..', name, 'bin', 'node'));
  const target = targets.find((path) => existsSync(join(bin, path)));
  if (target !== undefined && !existsSync(join(bin, 'node'))) symlinkSync(target, join(bin, 'node'));
}
