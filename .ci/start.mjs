// What `npm start` runs in a clone: the present sources, built if they are not yet.
import { ensureBuilt, reportBuildFailure } from './build.mjs';

await ensureBuilt().then(() => import('../dist/cli/start.js'), reportBuildFailure);
