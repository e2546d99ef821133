// npm runs this script, `dependencies`, after it installs packages in a clone. It exists only for the root package, so
// users of the package never run it.
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, reportBuildFailure } from './build.mjs';
import { root } from './root.mjs';

linkNode();
await ensureBuilt().catch(reportBuildFailure);

/**
 * npm 11 and later do this themselves; npm 10 omits commands of packages that only a local package depends on.
 */
function linkNode() {
  const link = join(root, 'node_modules', '.bin', 'node');
  const target = join('..', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (!existsSync(link) && existsSync(join(root, 'node_modules', '.bin', target))) symlinkSync(target, link);
}
