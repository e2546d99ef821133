import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { amount, choice, readOptions, whole } from '../../support/options.js';
import { built, isBuilt, sources } from '../life.js';
import { openLocation, type Place } from '../place.js';
import type { Sent } from './send.js';

const single = ['idle', 'drip headers', 'drip bodies', 'keep alive'] as const;
const kinds = ['nobody', ...single, 'all four'] as const;
const options = readOptions({
  name: 'npm run torture:receiver',
  about: `Runs a real daemon, strangers in their own processes and a sender in another, over real sockets. For each kind of
disturbance: sends deliveries one after the other while the strangers are connected, then a burst at once. Exits with 1
unless all were accepted, the sequential ones within --p99 milliseconds.`,
  options: {
    strangers: whole('strangers of each kind', 1000),
    deliveries: whole('deliveries one after the other', 200, { least: 1 }),
    burst: whole('deliveries at once', 1000, { least: 1 }),
    p99: amount('milliseconds for 99 of 100 deliveries', 200),
    only: choice('this kind alone', kinds, null),
  },
});
const rounds: readonly (readonly [string, readonly string[]])[] = [
  ['nobody', []],
  ...single.map((way) => [way, [way]] as const),
  ['all four', single],
  // Once more, to show that memory used for the strangers is not used again.
  ['all four', single],
  ['nobody', []],
];
const everyMillis = 50;

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

function start(script: string, args: readonly (string | number)[], env: Record<string, string> = {}) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', path, ...args.map(String)], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const line = new Promise<string>((resolve, reject) => {
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += String(chunk);
      if (printed.includes('\n')) resolve(printed);
    });
    child.on('close', () => reject(new Error(`${script} ended early`)));
  });
  line.catch(() => {});
  return { child, line };
}

async function send(place: Place, count: number, every: number): Promise<Sent> {
  const [company] = place.sandbox.ready.companies;
  const { port } = new URL(place.hook.url);
  const { line } = start('./send.ts', [port, count, every, company?.installation ?? '', company?.id ?? ''], {
    HOOK: place.hook.secret,
  });
  return JSON.parse(await line) as Sent;
}

/** Returns resident memory in MB, where the system reports it for another process. */
function residentMegabytes(pid: number | undefined): number | null {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1024);
  } catch {
    return null;
  }
}

const program = isBuilt() ? built : sources;
const place = await openLocation({ program, records: 100 });
let failed = false;
try {
  const daemon = place.rosterd(['run']);
  if (!(await daemon.ready)) throw new Error(`the daemon did not start:\n${daemon.printed()}`);
  const { port } = new URL(place.hook.url);
  const date = new Date().toISOString().slice(0, 10);
  process.stdout.write(
    `${date}, ${cpus().length} × ${cpus()[0]?.model}, Node ${process.versions.node}, ${program.extension === 'js' ? 'built' : 'sources'}\n` +
      `${options.strangers} strangers of each kind, ${options.deliveries} deliveries ${everyMillis} ms apart, bursts of ${options.burst}; milliseconds\n\n`,
  );
  const row = (cells: readonly (string | number)[]) =>
    process.stdout.write(`${cells.map((cell) => String(cell).padStart(14)).join('')}\n`);
  row(['strangers', 'accepted', 'p50', 'p99', 'burst', 'burst p50', 'burst longest', 'memory MB']);
  await send(place, 100, everyMillis);
  for (const [name, ways] of rounds.filter(([one]) => one === (options.only ?? one))) {
    const holding = ways.map((way) => start('./hold.ts', [port, options.strangers, way]));
    await Promise.all(holding.map(({ line }) => line));
    const steady = await send(place, options.deliveries, everyMillis);
    const burst = await send(place, options.burst, 0);
    const memory = residentMegabytes(daemon.child.pid);
    for (const { child } of holding) child.kill('SIGKILL');
    const counted = (sent: Sent, of: number) => (sent.accepted === of ? of : JSON.stringify(sent.others));
    row([
      ...[name, counted(steady, options.deliveries), steady.p50, steady.p99],
      ...[counted(burst, options.burst), burst.p50, burst.longest, memory ?? '-'],
    ]);
    failed ||=
      steady.accepted !== options.deliveries || burst.accepted !== options.burst || steady.p99 > options.p99;
  }
  daemon.kill('SIGTERM');
  await daemon.ended;
} finally {
  await place.killAll();
  await place.close();
}
process.exitCode = failed ? 1 : 0;
