// What `npm start` runs in a clone: the current sources, built first if necessary.
import { ensureBuilt, reportBuildFailure } from './build.mjs';

await ensureBuilt().then(() => import('../dist/cli/start.js'), reportBuildFailure);
