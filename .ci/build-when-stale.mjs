// npm runs this as `prepare`: after `npm ci`, and again when npx links this folder into its cache, which it does the
// first time somebody types `npx rosterd`. A second build then would take dist/ away from a daemon that runs from it.
import { execSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const sources = existsSync('src')
  ? readdirSync('src', { recursive: true }).map((name) => join('src', name))
  : [];
const newest = Math.max(0, ...[...sources, 'tsconfig.json', 'tsconfig.build.json'].map(changedAt));
if (newest > changedAt('dist/cli/main.js')) execSync('npm run --silent build', { stdio: 'inherit' });
