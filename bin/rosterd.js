#!/usr/bin/env node
// The command `rosterd`. In a clone it builds what it runs, when sources have changed; a package is built already.
import { existsSync } from 'node:fs';

const builder = new URL('../.ci/build.mjs', import.meta.url);
const command = new URL('../dist/cli/main.js', import.meta.url);

/** `dist/cli/main.js` says so in a sentence; here it is enough to use nothing that such a Node does not know. */
const tooOld = Number.parseInt(process.versions.node, 10) < 22;

async function start() {
  if (existsSync(builder) && !tooOld) {
    const { ensureBuilt, reportBuildFailure } = await import(builder.href);
    try {
      await ensureBuilt();
    } catch (error) {
      return reportBuildFailure(error);
    }
  }
  if (existsSync(command)) return import(command.href);
  const next = existsSync(builder) ? 'npm ci' : 'npm install rosterd';
  console.error(`error: this installation is not complete (dist/cli/main.js is missing)\nTry: ${next}`);
  process.exitCode = 1;
}

void start();
