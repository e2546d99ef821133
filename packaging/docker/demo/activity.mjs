// Simulates activity for the demonstration: writes the secrets that rosterd needs for the sandbox, then changes a few
// investments periodically. Runs beside the sandbox, whose control API listens on loopback only.
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const control = 'http://127.0.0.1:4010/_sandbox';
const tokenFile = '/credentials/acme-token';
const secretFile = '/credentials/hook-secret';
/** A change costs a tick, and a token may make 1,000 requests an hour. */
const pauseMillis = 15_000;

process.on('SIGTERM', () => process.exit(0));

async function ask(path, body) {
  const response = await fetch(`${control}${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  if (!response.ok) throw new Error(`the sandbox returned ${response.status} for ${path}`);
  return await response.json();
}

/** Writes atomically: the health check of this service looks for the file. */
function keep(file, text) {
  writeFileSync(`${file}.new`, `${text}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const { companies } = await ask('');
keep(tokenFile, companies[0].token);
// The sandbox stores its data in a volume, so an endpoint of an earlier start is still registered.
if (!existsSync(secretFile)) {
  const url = 'http://127.0.0.1:8787/webhooks';
  keep(secretFile, (await ask('/webhooks', { url, events: ['investment.changed'] })).secret);
}

for (;;) {
  await pause(pauseMillis);
  try {
    await ask('/churn', { changes: 3 });
  } catch (error) {
    console.error(`no change was made: ${error.message}`);
  }
}
