// npm runs this in a clone when it has installed packages (as the script `dependencies`, which is the root's alone: users
// of the package never run it).
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, reportBuildFailure } from './build.mjs';
import { root } from './root.mjs';

linkNode();
await ensureBuilt().catch(reportBuildFailure);

/** What npm 11 and later do themselves: npm 10 leaves out commands of packages that only a local package depends on. */
function linkNode() {
  const link = join(root, 'node_modules', '.bin', 'node');
  const target = join('..', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (!existsSync(link) && existsSync(join(root, 'node_modules', '.bin', target))) symlinkSync(target, link);
}
